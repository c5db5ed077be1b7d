-- Recorded episodes and the queue of those that are to be read. Each has the name that it has in the other store.

-- name: recorded_episode
SELECT p.episode, source.name, p.observed_at, root.name, e.recorded_at, e.principal,
  y.digest, y.restated, y.salt, y.body
FROM kept k
JOIN episodes p ON p.tenant_pk = k.tenant_pk AND p.episode = ?4
JOIN names source ON source.pk = p.source_pk
JOIN names root ON root.pk = p.root_pk
JOIN events e ON e.tenant_pk = k.tenant_pk AND e.position = k.position
LEFT JOIN payloads y INDEXED BY payloads_by_subject
  ON y.tenant_pk = k.tenant_pk AND y.subject_position = k.position AND y.subject_ordinal = -1 - k.ordinal
    AND y.event_pk = e.pk
WHERE k.tenant_pk = ?1 AND k.position = ?2 AND k.ordinal = ?3 AND k.scope_pk = ?5

-- name: recorded_as
SELECT position, ordinal FROM kept WHERE scope_pk = ?1 AND content = ?2

-- name: words_recorded
-- With the recorded time of each, which grows with the position: whoever asks stops where they are too new.
SELECT k.position, k.ordinal, e.recorded_at
FROM kept k INDEXED BY kept_words JOIN events e ON e.tenant_pk = k.tenant_pk AND e.position = k.position
WHERE k.tenant_pk = ?1 AND k.destroyed = 0 AND (k.position, k.ordinal) > (?2, ?3)
ORDER BY k.position, k.ordinal LIMIT ?4

-- name: put_kept
INSERT INTO kept (tenant_pk, position, ordinal, scope_pk, content, destroyed) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: destroy_words
UPDATE kept SET destroyed = 1 WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: ledger_kept
SELECT k.position, k.ordinal, k.content, o.namespace, o.purpose
FROM kept k JOIN scopes o ON o.pk = k.scope_pk WHERE k.tenant_pk = ?1 ORDER BY k.position, k.ordinal

-- name: quotes
SELECT q.position, q.ordinal, q.turn, q.first_char, q.end_char, q.quote
FROM quotes q
JOIN claims c ON c.tenant_pk = q.tenant_pk AND c.position = q.position AND c.ordinal = q.ordinal
JOIN slots s ON s.pk = c.slot_pk
WHERE q.tenant_pk = ?1 AND q.position = ?2 AND q.ordinal = ?3 AND s.scope_pk = ?4

-- name: put_quotes
INSERT INTO quotes (tenant_pk, position, ordinal, turn, first_char, end_char, quote) VALUES (?, ?, ?, ?, ?, ?, ?)

-- name: erase_quotes
DELETE FROM quotes WHERE (tenant_pk, position, ordinal) IN (
  SELECT tenant_pk, position, ordinal FROM claims WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2))

-- name: ledger_quotes
SELECT position, ordinal, turn, first_char, end_char, quote FROM quotes WHERE tenant_pk = ?1 ORDER BY position, ordinal

-- name: ledger_records
SELECT k.position, k.ordinal, e.position, y.digest, y.restated, y.salt, y.body
FROM kept k JOIN payloads y INDEXED BY payloads_by_subject
  ON y.tenant_pk = k.tenant_pk AND y.subject_position = k.position AND y.subject_ordinal = -1 - k.ordinal
JOIN events e ON e.pk = y.event_pk
WHERE k.tenant_pk = ?1 AND y.body IS NOT NULL AND e.position > k.position ORDER BY k.position, k.ordinal, e.position

-- name: enqueue
INSERT INTO operations (tenant_pk, position, ordinal, scope_pk, lane, principal, state, due, next_at, attempts, token,
  queued_at, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'queued',
  CASE WHEN EXISTS (
    SELECT 1 FROM operations WHERE tenant_pk = ?1 AND lane = ?5 AND state IN ('queued', 'running')
  ) THEN NULL ELSE ?7 END,
  ?7, 0, 0, ?7, ?7)

-- name: due_operations
SELECT pk FROM operations INDEXED BY operations_due WHERE due IS NOT NULL AND due <= ?1 ORDER BY due, pk LIMIT ?2

-- name: lease_operation
UPDATE operations SET state = 'running', due = ?2, attempts = attempts + 1, token = token + 1, worker = ?3,
  changed_at = ?4
WHERE pk = ?1

-- name: leased_operation
SELECT t.tenant, t.ledger, o.namespace, o.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token
FROM operations q JOIN tenants t ON t.pk = q.tenant_pk JOIN scopes o ON o.pk = q.scope_pk WHERE q.pk = ?1

-- name: renew_operation
UPDATE operations SET due = ?5
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3 AND state = 'running' AND token = ?4

-- name: end_operation
UPDATE operations SET state = ?5, due = NULL, reason = ?6, receipts = ?7, changed_at = ?8
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3 AND state = 'running' AND token = ?4

-- name: postpone_operation
UPDATE operations SET state = 'queued', due = ?5, next_at = ?5, reason = coalesce(?6, reason),
  attempts = attempts - (?6 IS NULL), changed_at = ?7
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3 AND state = 'running' AND token = ?4

-- name: next_of_lane
UPDATE operations SET due = next_at
WHERE due IS NULL AND pk = (
  SELECT pk FROM operations INDEXED BY operations_open
  WHERE state IN ('queued', 'running') AND tenant_pk = ?1
    AND lane = (SELECT lane FROM operations WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3)
  ORDER BY position, ordinal LIMIT 1)

-- name: retry_operation
UPDATE operations SET state = 'queued', due = NULL, next_at = ?4, attempts = 0, changed_at = ?4
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3 AND state = 'failed'

-- name: hold_lane
UPDATE operations SET due = NULL
WHERE state = 'queued' AND due IS NOT NULL AND tenant_pk = ?1
  AND lane = (SELECT lane FROM operations WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3)

-- name: lane_is_running
SELECT 1 FROM operations INDEXED BY operations_open
WHERE state IN ('queued', 'running') AND state = 'running' AND tenant_pk = ?1
  AND lane = (SELECT lane FROM operations WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3)

-- name: operation
SELECT t.tenant, t.ledger, o.namespace, o.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token
FROM tenants t JOIN scopes o ON o.tenant_pk = t.pk AND o.namespace = ?2 AND o.purpose = ?3
JOIN operations q ON q.tenant_pk = t.pk AND q.position = ?4 AND q.ordinal = ?5 AND q.scope_pk = o.pk
WHERE t.tenant = ?1

-- name: operations
SELECT t.tenant, t.ledger, o.namespace, o.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token
FROM tenants t JOIN scopes o ON o.tenant_pk = t.pk AND o.namespace = ?2 AND o.purpose = ?3
JOIN operations q INDEXED BY operations_by_state ON q.scope_pk = o.pk AND q.state = ?4
WHERE t.tenant = ?1 AND (q.position, q.ordinal) > (?5, ?6) ORDER BY q.position, q.ordinal LIMIT ?7

-- name: count_waiting
SELECT count(*) FROM (
  SELECT 1 FROM tenants t JOIN scopes o ON o.tenant_pk = t.pk AND o.namespace = ?2 AND o.purpose = ?3
  JOIN operations q INDEXED BY operations_by_state ON q.scope_pk = o.pk AND q.state IN ('queued', 'running')
  WHERE t.tenant = ?1 LIMIT ?4)

-- name: forget_receipts
UPDATE operations SET receipts = NULL WHERE pk IN (
  SELECT pk FROM operations INDEXED BY operations_receipts
  WHERE state = 'done' AND receipts IS NOT NULL AND changed_at < ?1 ORDER BY changed_at, pk LIMIT ?2)

-- name: unread
SELECT t.ledger, q.position, q.ordinal
FROM tenants t JOIN operations q ON q.tenant_pk = t.pk AND (q.position, q.ordinal) > (?2, ?3)
WHERE t.tenant = ?1 AND q.state IN ('queued', 'running', 'failed') ORDER BY q.position, q.ordinal LIMIT ?4

-- name: backlog
SELECT
  (SELECT count(*) FROM operations WHERE state = 'queued'),
  (SELECT count(*) FROM operations WHERE state = 'running'),
  (SELECT count(*) FROM operations WHERE state = 'failed'),
  (SELECT min(due) FROM operations WHERE due IS NOT NULL AND due <= ?1),
  (SELECT count(*) FROM operations WHERE state = 'queued' AND reason IS NOT NULL),
  (SELECT max(changed_at) FROM operations WHERE state = 'queued' AND reason IS NOT NULL),
  (SELECT reason FROM operations WHERE state = 'queued' AND reason IS NOT NULL ORDER BY changed_at DESC LIMIT 1),
  (SELECT max(changed_at) FROM operations WHERE state = 'done')
