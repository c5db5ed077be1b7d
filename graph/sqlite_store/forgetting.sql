-- What forgetting asks and does. Each query has the name that it has in the other store.

-- name: tombstones
SELECT document, actor, position, recorded_at, lifted_by, lifted_position, lifted_at FROM tombstones
WHERE tenant_pk = ?1 AND position > ?2 ORDER BY position LIMIT ?3

-- name: tombstone_of
SELECT t.document, t.actor, t.position, t.recorded_at, t.lifted_by, t.lifted_position, t.lifted_at
FROM forgotten f JOIN tombstones t ON t.tenant_pk = f.tenant_pk AND t.position = f.tombstone
WHERE f.tenant_pk = ?1 AND f.kind = ?2 AND f.position = ?3 AND f.ordinal = ?4

-- name: marked
SELECT t.document, t.actor, t.position, t.recorded_at, t.lifted_by, t.lifted_position, t.lifted_at
FROM marks m JOIN tombstones t ON t.tenant_pk = m.tenant_pk AND t.position = m.tombstone
WHERE m.tenant_pk = ?1 AND m.kind = ?2 AND m.digest = ?3 ORDER BY m.tombstone DESC LIMIT 1

-- name: secret
SELECT secret FROM tenants WHERE pk = ?1

-- name: ledger_tombstones
SELECT document, actor, position, recorded_at, lifted_by, lifted_position, lifted_at FROM tombstones
WHERE tenant_pk = ?1 ORDER BY position

-- name: recorded_after
SELECT p.episode, source.name, p.observed_at, root.name, e.recorded_at, e.principal,
  y.digest, y.restated, y.salt, y.body
FROM kept k
JOIN tenants t ON t.pk = k.tenant_pk
JOIN episodes p ON p.tenant_pk = k.tenant_pk
  AND p.episode = 'epi_' || t.ledger || '_' || k.position || '_' || k.ordinal
JOIN names source ON source.pk = p.source_pk
JOIN names root ON root.pk = p.root_pk
JOIN events e ON e.tenant_pk = k.tenant_pk AND e.position = k.position
LEFT JOIN payloads y INDEXED BY payloads_by_subject
  ON y.tenant_pk = k.tenant_pk AND y.subject_position = k.position AND y.subject_ordinal = -1 - k.ordinal
WHERE k.tenant_pk = ?1 AND (k.position, k.ordinal) > (?2, ?3) AND k.scope_pk = ?4
ORDER BY k.position, k.ordinal LIMIT ?5

-- name: all_of_episode
SELECT c.position, c.ordinal
FROM episodes p
JOIN claims c INDEXED BY claims_by_episode ON c.episode_pk = p.pk
JOIN slots s ON s.pk = c.slot_pk
WHERE p.tenant_pk = ?1 AND p.episode = ?2 AND s.scope_pk = ?3 ORDER BY c.position, c.ordinal

-- name: all_of_source
SELECT c.position, c.ordinal
FROM names n
JOIN claims c INDEXED BY claims_by_source ON c.source_pk = n.pk
JOIN slots s ON s.pk = c.slot_pk
WHERE n.tenant_pk = ?1 AND n.name = ?2 AND s.scope_pk = ?3 ORDER BY c.position, c.ordinal

-- name: all_of_entity
-- Claims and retractions whose value is the entity that has the value key ?1.
SELECT c.position, c.ordinal
FROM claims c INDEXED BY claims_of_entity JOIN slots s ON s.pk = c.slot_pk
WHERE c.value_key = ?1 AND c.value_type = 'entity' AND s.scope_pk = ?2 ORDER BY c.position, c.ordinal

-- name: kept_answers
SELECT pk, receipt, principal, key FROM answers WHERE tenant = ?1

-- name: blank_answer
-- The key may name what is gone too: it is known by its hash from then on.
UPDATE answers SET key = ?2, request = x'', receipt = x'' WHERE pk = ?1

-- name: end_reading
UPDATE operations SET state = 'failed', due = NULL, reason = ?4, receipts = NULL, worker = NULL, token = token + 1,
  changed_at = ?5
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: forget_readings
UPDATE operations SET receipts = NULL WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: leave_lane
-- The lane of a session is a digest of its name.
UPDATE operations SET lane = ?4 WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: slots_of_entity
SELECT s.pk FROM scopes o JOIN slots s ON s.scope_pk = o.pk AND s.subject_position = ?2 AND s.subject_ordinal = ?3
WHERE o.tenant_pk = ?1

-- name: forget_entity
DELETE FROM entities WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: forget_kept
DELETE FROM kept WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: empty_kept
UPDATE kept SET content = ?4 WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: forget_episode
DELETE FROM episodes WHERE tenant_pk = ?1 AND episode = ?2

-- name: remove_transitions
DELETE FROM transitions
WHERE claim_pk = (SELECT pk FROM claims WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3)

-- name: remove_quotes
DELETE FROM quotes WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: remove_extents
DELETE FROM extents WHERE slot_pk = ?1 AND claim_position = ?2 AND claim_ordinal = ?3

-- name: remove_claims
DELETE FROM claims WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: remove_versions
DELETE FROM versions WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: remove_support
DELETE FROM support WHERE slot_pk = ?1
  AND value_key NOT IN (SELECT value_key FROM claims WHERE slot_pk = ?1 AND value_key IS NOT NULL)

-- name: remove_slot
DELETE FROM slots WHERE pk = ?1 AND NOT EXISTS (SELECT 1 FROM claims WHERE slot_pk = ?1)

-- name: destroy_payload
UPDATE payloads INDEXED BY payloads_by_subject SET restated = NULL, salt = NULL, body = NULL
WHERE tenant_pk = ?1 AND subject_position = ?3 AND subject_ordinal = ?4
  AND event_pk = (SELECT pk FROM events WHERE tenant_pk = ?1 AND position = ?2)

-- name: restate_nobody
-- The payload of an event that concerns no subject.
UPDATE payloads SET restated = ?3, salt = ?4, body = ?5
WHERE tenant_pk = ?1 AND subject_position IS NULL
  AND event_pk = (SELECT pk FROM events WHERE tenant_pk = ?1 AND position = ?2)

-- name: payloads_of_nobody
SELECT e.position, y.digest, y.restated, y.salt, y.body
FROM payloads y INDEXED BY payloads_of_nobody JOIN events e ON e.pk = y.event_pk
WHERE y.tenant_pk = ?1 AND y.subject_position IS NULL AND y.body IS NOT NULL ORDER BY e.position

-- name: put_secret
UPDATE tenants SET secret = coalesce(secret, ?2) WHERE pk = ?1

-- name: put_tombstone
INSERT INTO tombstones (tenant_pk, position, document, actor, recorded_at) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: put_forgotten
INSERT OR REPLACE INTO forgotten (tenant_pk, kind, position, ordinal, tombstone) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: put_mark
INSERT INTO marks (tenant_pk, kind, digest, tombstone) VALUES (?1, ?2, ?3, ?4)

-- name: lift_tombstone
UPDATE tombstones SET lifted_by = ?3, lifted_position = ?4, lifted_at = ?5 WHERE tenant_pk = ?1 AND position = ?2

-- name: sweep_names
-- Names of which nothing is left that has them.
DELETE FROM names WHERE tenant_pk = ?1
  AND pk NOT IN (SELECT source_pk FROM claims WHERE tenant_pk = ?1)
  AND pk NOT IN (SELECT root_pk FROM claims WHERE tenant_pk = ?1)
  AND pk NOT IN (SELECT principal_pk FROM claims WHERE tenant_pk = ?1)
  AND pk NOT IN (SELECT source_pk FROM episodes WHERE tenant_pk = ?1)
  AND pk NOT IN (SELECT root_pk FROM episodes WHERE tenant_pk = ?1)

-- name: put_scrub
INSERT INTO scrubs DEFAULT VALUES

-- name: scrubs
SELECT pk FROM scrubs WHERE pk > 0 LIMIT 1

-- name: end_scrubs
DELETE FROM scrubs WHERE pk > 0
