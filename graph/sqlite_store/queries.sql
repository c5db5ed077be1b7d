-- Every query of the store by name. Text is constant, values are parameters.
--
-- 4611686018427387904 (2^62) is the open end of valid and of recorded time. Where a predicate or a value may be
-- any, the caller gives the whole range: texts lie between '' and x'' (a blob comes after every text).
-- Lists of facts are found as (valid_from, recorded_from, ordinal, version, known_at), then `fact` reads each row.
-- What has expired is not served: only in a version that may have expired are its claims looked at.

-- name: head
SELECT t.pk, s.pk, t.ledger, t.position, t.recorded_at, t.digest, t.erasures, t.schema_version
FROM tenants t LEFT JOIN scopes s ON s.tenant_pk = t.pk AND s.namespace = ?2 AND s.purpose = ?3
WHERE t.tenant = ?1

-- name: tenants
SELECT tenant FROM tenants ORDER BY tenant

-- name: tenant
SELECT pk, ledger FROM tenants WHERE tenant = ?1

-- name: scopes
SELECT o.namespace, o.purpose FROM tenants t JOIN scopes o ON o.tenant_pk = t.pk
WHERE t.tenant = ?1 AND (EXISTS (SELECT 1 FROM slots s WHERE s.scope_pk = o.pk)
  OR EXISTS (SELECT 1 FROM kept k WHERE k.scope_pk = o.pk)) ORDER BY o.namespace, o.purpose

-- name: newest_schema
SELECT document FROM schemas WHERE tenant_pk = ?1 ORDER BY position DESC LIMIT 1

-- name: entity_by_key
SELECT position, ordinal, key FROM entities WHERE tenant_pk = ?1 AND namespace = ?2 AND key = ?3

-- name: entity_by_id
-- Of many: ?1 lists [position, ordinal] as JSON.
SELECT e.position, e.ordinal, e.key
FROM json_each(?1) j CROSS JOIN entities e ON e.tenant_pk = ?2 AND e.position = json_extract(j.value, '$[0]')
  AND e.ordinal = json_extract(j.value, '$[1]') AND e.namespace = ?3

-- name: entities_after
SELECT position, ordinal, key FROM entities
WHERE tenant_pk = ?1 AND (position, ordinal) > (?3, ?4) AND namespace = ?2
ORDER BY position, ordinal LIMIT ?5

-- name: is_value
SELECT 1 FROM versions v INDEXED BY versions_by_value
WHERE v.scope_pk = ?1 AND v.value_key = ?2
  AND v.valid_from <= ?3 AND v.valid_to > ?3 AND v.recorded_from <= ?4 AND v.recorded_to > ?4
  AND (v.may_expire_at > ?5 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?4 AND x.recorded_to > ?4 AND y.expires_at > ?5))
LIMIT 1

-- name: is_held
SELECT 1 FROM slots s JOIN versions v INDEXED BY versions_by_valid ON v.slot_pk = s.pk
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate = ?4 AND v.value_key = ?5
  AND v.valid_from <= ?6 AND v.valid_to > ?6 AND v.recorded_from <= ?7 AND v.recorded_to > ?7
  AND (v.may_expire_at > ?8 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?7 AND x.recorded_to > ?7 AND y.expires_at > ?8))
LIMIT 1

-- name: subjects_holding
SELECT e.position, e.ordinal, e.key
FROM versions v INDEXED BY versions_by_value
JOIN slots s ON s.pk = v.slot_pk
JOIN entities e ON e.tenant_pk = ?1 AND e.position = s.subject_position AND e.ordinal = s.subject_ordinal
WHERE v.scope_pk = ?2 AND v.value_key = ?3 AND s.predicate IN (?4, ?5)
  AND v.valid_from <= ?6 AND v.valid_to > ?6 AND v.recorded_from <= ?7 AND v.recorded_to > ?7
  AND (s.subject_position, s.subject_ordinal) > (?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?7 AND x.recorded_to > ?7 AND y.expires_at > ?11))
GROUP BY e.position, e.ordinal ORDER BY e.position, e.ordinal LIMIT ?10

-- name: state_now
-- In a functional slot nothing lies beside a certain version: the last one that has begun holds, or it ended and
-- only possible ones that begin after its end can. In no order, with what has expired.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt, v.may_expire_at
FROM slots s
JOIN versions v INDEXED BY versions_current ON v.slot_pk = s.pk AND v.recorded_to = 4611686018427387904
  AND v.valid_from <= ?6 AND v.valid_to > ?6 AND v.certain >= ?7
  AND v.valid_from >= CASE s.functional WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?6 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = s.pk AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?6 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?8)
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate >= ?4 AND s.predicate <= ?5
LIMIT ?9

-- name: states_now
-- `state_now` of many: ?1 lists [position, ordinal, predicate] as JSON.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt, v.may_expire_at
FROM json_each(?1) j CROSS JOIN slots s ON s.scope_pk = ?2 AND s.subject_position = json_extract(j.value, '$[0]')
  AND s.subject_ordinal = json_extract(j.value, '$[1]') AND s.predicate = json_extract(j.value, '$[2]')
CROSS JOIN versions v INDEXED BY versions_current ON v.slot_pk = s.pk AND v.recorded_to = 4611686018427387904
  AND v.valid_from <= ?3 AND v.valid_to > ?3 AND v.certain >= ?4
  AND v.valid_from >= CASE s.functional WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?3 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = s.pk AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?3 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?5)
LIMIT ?6

-- name: state_as_of
-- For each slot, with the fact of the certain version that decides in a functional one: the last one begun by ?6 among those
-- visible at ?7. It is sought backwards a little along valid time, then along recorded time, then all the way
-- along the older of the two coordinates.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt, v.may_expire_at, s.functional
FROM slots s
LEFT JOIN versions v ON v.pk = CASE s.functional WHEN 1 THEN coalesce(
  (SELECT near.pk FROM (
     SELECT c.pk, c.certain, c.recorded_from, c.recorded_to FROM versions c INDEXED BY versions_by_valid
     WHERE c.slot_pk = s.pk AND c.valid_from <= ?6 ORDER BY c.valid_from DESC, c.recorded_from DESC LIMIT 24) near
   WHERE near.certain = 1 AND near.recorded_from <= ?7 AND near.recorded_to > ?7 LIMIT 1),
  (SELECT near.pk FROM (
     SELECT c.pk, c.certain, c.valid_from, c.valid_to, c.recorded_to FROM versions c INDEXED BY versions_by_recorded
     WHERE c.slot_pk = s.pk AND c.recorded_from <= ?7 ORDER BY c.recorded_from DESC, c.valid_from DESC LIMIT 24) near
   WHERE near.certain = 1 AND near.recorded_to > ?7 AND near.valid_from <= ?6 AND near.valid_to > ?6 LIMIT 1),
  CASE WHEN ?7 < ?6 THEN (
    SELECT c.pk FROM versions c INDEXED BY versions_by_recorded
    WHERE c.slot_pk = s.pk AND c.recorded_from <= ?7 AND c.recorded_to > ?7
      AND c.certain = 1 AND c.valid_from <= ?6 AND c.valid_to > ?6
    ORDER BY c.recorded_from DESC, c.valid_from DESC LIMIT 1)
  ELSE (
    SELECT c.pk FROM versions c INDEXED BY versions_by_valid
    WHERE c.slot_pk = s.pk AND c.valid_from <= ?6 AND c.recorded_from <= ?7 AND c.recorded_to > ?7 AND c.certain = 1
    ORDER BY c.valid_from DESC, c.recorded_from DESC LIMIT 1) END) END
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?7)
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate >= ?4 AND s.predicate <= ?5

-- name: fact
-- ?2 is the known_at at which the support counts.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt, v.may_expire_at
FROM versions v
JOIN slots s ON s.pk = v.slot_pk
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT max(n.recorded_from) FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= ?2)
WHERE v.pk = ?1

-- name: version_by_id
SELECT v.pk, v.slot_pk, v.recorded_to FROM versions v
WHERE v.tenant_pk = ?1 AND v.position = ?2 AND v.ordinal = ?3 AND v.scope_pk = ?4

-- name: edges_of
-- Of a version [?4, ?6) at most one claim of each kind of start (0) among those that show at its first instant, and of
-- each kind of end (1) among those that show at its last.
SELECT 0, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key = ?3 AND e.valid_from = ?4 AND e.recorded_from <= ?5 AND e.recorded_to > ?5
GROUP BY c.start_kind
UNION ALL
SELECT 1, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key = ?3 AND e.valid_from >= ?4 AND e.valid_from < ?6 AND e.valid_to = ?6
  AND e.recorded_from <= ?5 AND e.recorded_to > ?5
GROUP BY c.end_kind

-- name: expiry_of
-- When the last of the claims expires that show in a version [?4, ?6).
SELECT max(c.expires_at)
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key = ?3 AND e.valid_from >= ?4 AND e.valid_from < ?6
  AND e.recorded_from <= ?5 AND e.recorded_to > ?5

-- name: history_now
-- Versions of slot ?1 that meet [?3, ?4); ?5 says whether the slot is functional, which bounds what reaches in.
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_current
WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.certain >= ?6
  AND v.valid_from >= max(?7, CASE ?5 WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?3 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = ?1 AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?3 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END)
  AND (+v.valid_from, v.recorded_from, v.ordinal) > (?7, ?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?11))
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?10

-- name: history_now_backwards
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_current
WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.valid_to > ?3 AND v.valid_from <= min(?4 - 1, ?7) AND v.certain >= ?6
  AND v.valid_from >= CASE ?5 WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?3 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = ?1 AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?3 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
  AND (+v.valid_from, v.recorded_from, v.ordinal) < (?7, ?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?11))
ORDER BY v.valid_from DESC, v.recorded_from DESC, v.ordinal DESC LIMIT ?10

-- name: history_as_of
-- As `history_now`, of what was visible at ?2; none of them begins before ?5.
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_valid
WHERE v.slot_pk = ?1 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.valid_from >= max(?5, ?7) AND v.certain >= ?6
  AND (+v.valid_from, v.recorded_from, v.ordinal) > (?7, ?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?11))
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?10

-- name: history_as_of_backwards
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_valid
WHERE v.slot_pk = ?1 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from <= min(?4 - 1, ?7) AND v.valid_from >= ?5 AND v.certain >= ?6
  AND (+v.valid_from, v.recorded_from, v.ordinal) < (?7, ?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?11))
ORDER BY v.valid_from DESC, v.recorded_from DESC, v.ordinal DESC LIMIT ?10

-- name: history_by_recorded
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_recorded
WHERE v.slot_pk = ?1 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.certain >= ?6
  AND (v.recorded_from, v.ordinal, v.valid_from) > (?7, ?8, ?9)
  AND (v.may_expire_at > ?11 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?11))
ORDER BY v.recorded_from, v.ordinal, v.valid_from LIMIT ?10

-- name: holders
-- Versions with the value ?5 that meet [?3, ?4), as visible at ?2.
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_value JOIN slots s ON s.pk = v.slot_pk
WHERE v.scope_pk = ?1 AND v.value_key = ?5 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.certain >= ?6
  AND s.predicate >= ?11 AND s.predicate <= ?12 AND (v.valid_from, v.recorded_from, v.ordinal) > (?7, ?8, ?9)
  AND (v.may_expire_at > ?13 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?13))
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?10

-- name: holders_backwards
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_value JOIN slots s ON s.pk = v.slot_pk
WHERE v.scope_pk = ?1 AND v.value_key = ?5 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.certain >= ?6
  AND s.predicate >= ?11 AND s.predicate <= ?12 AND (v.valid_from, v.recorded_from, v.ordinal) < (?7, ?8, ?9)
  AND (v.may_expire_at > ?13 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?13))
ORDER BY v.valid_from DESC, v.recorded_from DESC, v.ordinal DESC LIMIT ?10

-- name: holders_by_recorded
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM versions v INDEXED BY versions_by_value JOIN slots s ON s.pk = v.slot_pk
WHERE v.scope_pk = ?1 AND v.value_key = ?5 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.valid_to > ?3 AND v.valid_from < ?4 AND v.certain >= ?6
  AND s.predicate >= ?11 AND s.predicate <= ?12 AND (v.recorded_from, v.ordinal, v.valid_from) > (?7, ?8, ?9)
  AND (v.may_expire_at > ?13 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?13))
ORDER BY v.recorded_from, v.ordinal, v.valid_from LIMIT ?10

-- name: of_predicate_now
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM slots s INDEXED BY slots_by_predicate
JOIN versions v INDEXED BY versions_current ON v.slot_pk = s.pk AND v.recorded_to = 4611686018427387904
  AND v.valid_from <= ?3 AND v.valid_to > ?3 AND v.certain >= ?5
  AND v.valid_from >= CASE s.functional WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?3 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = s.pk AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?3 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
  AND (v.may_expire_at > ?10 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?10))
WHERE s.scope_pk = ?1 AND s.predicate = ?4 AND (+v.valid_from, v.recorded_from, v.ordinal) > (?6, ?7, ?8)
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?9

-- name: of_predicate_as_of
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, ?2
FROM slots s INDEXED BY slots_by_predicate
JOIN versions v INDEXED BY versions_by_valid ON v.slot_pk = s.pk
  AND v.valid_from <= ?3 AND v.valid_to > ?3 AND v.recorded_from <= ?2 AND v.recorded_to > ?2 AND v.certain >= ?5
  AND (v.may_expire_at > ?10 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?10))
WHERE s.scope_pk = ?1 AND s.predicate = ?4 AND (+v.valid_from, v.recorded_from, v.ordinal) > (?6, ?7, ?8)
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?9

-- name: audit
-- Rectangles of slot ?1 whose valid time meets [?2, ?3) and of which a recorded bound lies in [?4, ?5); each is
-- shown as known when it was last believed.
SELECT v.valid_from, v.recorded_from, v.ordinal, v.pk, v.recorded_to - 1
FROM versions v INDEXED BY versions_by_recorded
WHERE v.slot_pk = ?1 AND v.valid_to > ?2 AND v.valid_from < ?3 AND v.recorded_from < ?5
  AND (v.recorded_from >= ?4 OR (v.recorded_to >= ?4 AND v.recorded_to < ?5))
  AND (v.recorded_from, v.ordinal, v.valid_from) > (?6, ?7, ?8)
ORDER BY v.recorded_from, v.ordinal, v.valid_from LIMIT ?9

-- name: served
-- Over which recorded times the claims of a version show in it, and when each expires; of one that may not, nothing.
SELECT e.recorded_from, e.recorded_to, c.expires_at
FROM versions v
JOIN extents e ON e.slot_pk = v.slot_pk AND e.value_key = v.value_key
  AND e.valid_from >= v.valid_from AND e.valid_from < v.valid_to
JOIN claims c ON c.tenant_pk = v.tenant_pk AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE v.tenant_pk = ?1 AND v.position = ?2 AND v.ordinal = ?3 AND v.scope_pk = ?4
  AND v.may_expire_at < 4611686018427387904
ORDER BY e.recorded_from

-- name: evidence
SELECT DISTINCT c.position, c.ordinal
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key = ?3 AND e.valid_from >= ?4 AND e.valid_from < ?5
  AND e.recorded_from <= ?6 AND e.recorded_to > ?6 AND (c.observed_at, c.position, c.ordinal) > (?7, ?8, ?9)
ORDER BY c.observed_at, c.position, c.ordinal LIMIT ?10

-- name: claims_of_subject
SELECT c.position, c.ordinal
FROM slots s JOIN claims c INDEXED BY claims_by_slot ON c.slot_pk = s.pk
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate >= ?4 AND s.predicate <= ?5
  AND (c.position, c.ordinal) > (?6, ?7)
ORDER BY c.position, c.ordinal LIMIT ?8

-- name: claim
SELECT c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  s.subject_position, s.subject_ordinal, s.predicate, s.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, source.name, p.episode, root.name, c.confidence,
  c.schema_version, principal.name, c.recorded_at, c.trust, c.echo, c.expires_at,
  (SELECT json_group_array(json_array(t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal)) FROM transitions t WHERE t.claim_pk = c.pk)
FROM claims c
JOIN slots s ON s.pk = c.slot_pk
JOIN names source ON source.pk = c.source_pk
JOIN names root ON root.pk = c.root_pk
JOIN names principal ON principal.pk = c.principal_pk
LEFT JOIN episodes p ON p.pk = c.episode_pk
WHERE c.tenant_pk = ?1 AND c.position = ?2 AND c.ordinal = ?3 AND s.scope_pk = ?4

-- name: claims_of_episode
SELECT c.position, c.ordinal
FROM episodes p
JOIN claims c INDEXED BY claims_by_episode ON c.episode_pk = p.pk
JOIN slots s ON s.pk = c.slot_pk
WHERE p.tenant_pk = ?1 AND p.episode = ?2 AND s.scope_pk = ?3
  AND c.asserts = 1 AND c.state NOT IN ('rejected', 'withdrawn', 'forgotten')
ORDER BY c.position, c.ordinal

-- name: claims_of_source
SELECT c.position, c.ordinal
FROM names n
JOIN claims c INDEXED BY claims_by_source ON c.source_pk = n.pk
JOIN slots s ON s.pk = c.slot_pk
WHERE n.tenant_pk = ?1 AND n.name = ?2 AND s.scope_pk = ?3
  AND c.asserts = 1 AND c.state NOT IN ('rejected', 'withdrawn', 'forgotten')
ORDER BY c.position, c.ordinal

-- name: held
-- Claims that wait in scope ?1, of one rule or, where ?4 is NULL, of any; ?5 and ?6 are the states.
SELECT c.position, c.ordinal FROM claims c INDEXED BY claims_held
WHERE c.held_in = ?1 AND (c.position, c.ordinal) > (?2, ?3) AND c.held_by = coalesce(?4, c.held_by)
  AND c.state IN (?5, ?6)
ORDER BY c.position, c.ordinal LIMIT ?7

-- name: held_counts
SELECT c.state, c.held_by, count(*) FROM claims c INDEXED BY claims_held
WHERE c.held_in = ?1 GROUP BY c.state, c.held_by

-- name: overdue
SELECT c.position, c.ordinal FROM claims c INDEXED BY claims_overdue JOIN slots s ON s.pk = c.slot_pk
WHERE c.tenant_pk = ?1 AND s.scope_pk = ?2 AND c.expires_at <= ?3 AND c.expires_at < 4611686018427387904
  AND c.state = 'accepted' AND c.asserts = 1 AND (c.expires_at, c.position, c.ordinal) > (?4, ?5, ?6)
ORDER BY c.expires_at, c.position, c.ordinal LIMIT ?7

-- name: slot
SELECT s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
FROM slots s
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate = ?4 AND s.language = ?5

-- name: slot_heads
-- `slot` of many: ?1 lists [position, ordinal, predicate, language] as JSON; its place in the list comes first.
SELECT j.key, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
FROM json_each(?1) j CROSS JOIN slots s ON s.scope_pk = ?2 AND s.subject_position = json_extract(j.value, '$[0]')
  AND s.subject_ordinal = json_extract(j.value, '$[1]') AND s.predicate = json_extract(j.value, '$[2]')
  AND s.language = json_extract(j.value, '$[3]')

-- name: slots_of
SELECT s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
FROM slots s
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate >= ?4 AND s.predicate <= ?5
ORDER BY s.predicate, s.language

-- name: slots_after
SELECT s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
FROM slots s
WHERE s.scope_pk = ?1 AND (s.subject_position, s.subject_ordinal, s.predicate, s.language) > (?2, ?3, ?4, ?5)
ORDER BY s.subject_position, s.subject_ordinal, s.predicate, s.language LIMIT ?6

-- name: slots_of_predicate_after
SELECT s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
FROM slots s INDEXED BY slots_by_predicate
WHERE s.scope_pk = ?1 AND s.predicate = ?7
  AND (s.subject_position, s.subject_ordinal, s.predicate, s.language) > (?2, ?3, ?4, ?5)
ORDER BY s.subject_position, s.subject_ordinal, s.predicate, s.language LIMIT ?6

-- name: events_after
SELECT pk, position, recorded_at, kind, principal, restated, previous, digest FROM events
WHERE tenant_pk = ?1 AND position > ?2 ORDER BY position LIMIT ?3

-- name: payloads_of_event
SELECT subject_position, subject_ordinal, digest, restated, salt, body FROM payloads WHERE event_pk = ?1 ORDER BY place

-- name: answered
-- ?4 is how the key stands where it was blanked.
SELECT request, receipt FROM answers WHERE tenant = ?1 AND principal = ?2 AND key IN (?3, ?4)

-- name: window_span
-- From the start of the ?4th current version that begins before ?2 to that of the ?4th that begins after ?3.
SELECT
  (SELECT v.valid_from FROM versions v INDEXED BY versions_current
   WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.valid_from < ?2
   ORDER BY v.valid_from DESC LIMIT 1 OFFSET ?4 - 1),
  (SELECT v.valid_from FROM versions v INDEXED BY versions_current
   WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.valid_from > ?3
   ORDER BY v.valid_from LIMIT 1 OFFSET ?4 - 1)

-- name: window_span_of_value
SELECT
  (SELECT v.valid_from FROM versions v INDEXED BY versions_of_value
   WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.value_key = ?5 AND v.valid_from < ?2
   ORDER BY v.valid_from DESC LIMIT 1 OFFSET ?4 - 1),
  (SELECT v.valid_from FROM versions v INDEXED BY versions_of_value
   WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.value_key = ?5 AND v.valid_from > ?3
   ORDER BY v.valid_from LIMIT 1 OFFSET ?4 - 1)

-- name: window
-- Current versions of slot ?1 that meet [?2, ?3); ?4 says whether the slot is functional, as in `state_now`.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to
FROM versions v INDEXED BY versions_current
WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.valid_from < ?3 AND v.valid_to > ?2
  AND v.valid_from >= CASE ?4 WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?2 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_current
     WHERE c.slot_pk = ?1 AND c.recorded_to = 4611686018427387904 AND c.valid_from <= ?2 AND c.certain = 1
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
ORDER BY v.valid_from, v.recorded_from, v.ordinal

-- name: window_of_value
-- Versions of one value are disjoint: of those that began before ?2 only the last can reach beyond it.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to
FROM versions v INDEXED BY versions_of_value
WHERE v.slot_pk = ?1 AND v.recorded_to = 4611686018427387904 AND v.value_key = ?4
  AND v.valid_from < ?3 AND v.valid_to > ?2
  AND v.valid_from >= coalesce(
    (SELECT c.valid_from FROM versions c INDEXED BY versions_of_value
     WHERE c.slot_pk = ?1 AND c.recorded_to = 4611686018427387904 AND c.value_key = ?4 AND c.valid_from <= ?2
     ORDER BY c.valid_from DESC LIMIT 1), -4611686018427387904)
ORDER BY v.valid_from, v.recorded_from, v.ordinal

-- name: extents_of_version
SELECT e.valid_from, e.valid_to, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key = ?3 AND e.valid_from >= ?4 AND e.valid_from < ?5
  AND e.recorded_to = 4611686018427387904

-- name: extents_of_slot
SELECT e.valid_from, e.valid_to, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
FROM extents e
JOIN claims c ON c.tenant_pk = ?1 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
WHERE e.slot_pk = ?2 AND e.value_key >= ?3 AND e.value_key <= ?4 AND e.recorded_to = 4611686018427387904

-- name: entries
SELECT c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
FROM claims c INDEXED BY claims_by_slot
WHERE c.slot_pk = ?1 AND c.folded = 1
ORDER BY c.observed_at, c.position, c.ordinal

-- name: support_now
SELECT recorded_from, sources, occurrences, doubt FROM support
WHERE slot_pk = ?1 AND value_key = ?2 ORDER BY recorded_from DESC LIMIT 1

-- name: voice_of_root
SELECT max(c.confidence) FROM claims c INDEXED BY claims_voices
WHERE c.slot_pk = ?1 AND c.value_key = ?2 AND c.asserts = 1 AND c.folded = 1
  AND c.root_pk = (SELECT pk FROM names WHERE tenant_pk = ?3 AND name = ?4)

-- name: claims_of_episode_for
-- Those that are folded and no echoes; where ?6 is true, those that are held and echoes too.
SELECT c.position, c.ordinal FROM claims c INDEXED BY claims_by_episode
WHERE c.episode_pk = (SELECT pk FROM episodes WHERE tenant_pk = ?1 AND episode = ?2)
  AND c.slot_pk = ?3 AND c.value_key = ?4 AND c.asserts = 1 AND c.state NOT IN ('rejected', 'withdrawn', 'forgotten')
  AND (?6 OR (c.folded = 1 AND c.echo = 0))
ORDER BY c.position, c.ordinal LIMIT ?5

-- name: heard
SELECT c.position, c.ordinal FROM claims c INDEXED BY claims_voices
WHERE c.slot_pk = ?1 AND c.value_key = ?2 AND c.asserts = 1 AND c.state NOT IN ('withdrawn', 'forgotten')
ORDER BY c.position, c.ordinal

-- name: episode
SELECT p.episode, source.name, p.observed_at, root.name
FROM episodes p JOIN names source ON source.pk = p.source_pk JOIN names root ON root.pk = p.root_pk
WHERE p.tenant_pk = ?1 AND p.episode = ?2

-- name: payloads_about
SELECT e.position, y.digest, y.restated, y.salt, y.body
FROM payloads y INDEXED BY payloads_by_subject JOIN events e ON e.pk = y.event_pk
WHERE y.tenant_pk = ?1 AND y.subject_position = ?2 AND y.subject_ordinal = ?3 AND y.body IS NOT NULL
ORDER BY e.position

-- name: put_migration
INSERT INTO migrations (version) VALUES (?1)

-- name: put_tenant
INSERT INTO tenants (tenant, ledger, position, recorded_at, digest, erasures, schema_version)
VALUES (?1, ?2, 0, -4611686018427387904, zeroblob(32), 0, 0) RETURNING pk

-- name: advance_tenant
UPDATE tenants SET position = ?2, recorded_at = ?3, digest = ?4, erasures = erasures + ?5,
  schema_version = coalesce(?6, schema_version)
WHERE pk = ?1

-- name: scope
SELECT pk FROM scopes WHERE tenant_pk = ?1 AND namespace = ?2 AND purpose = ?3

-- name: put_scope
INSERT INTO scopes (tenant_pk, namespace, purpose) VALUES (?1, ?2, ?3) RETURNING pk

-- name: put_schema
INSERT INTO schemas (tenant_pk, position, version, document) VALUES (?1, ?2, ?3, ?4)

-- name: slots_to_erase
SELECT pk FROM slots
WHERE scope_pk = ?1 AND subject_position = ?2 AND subject_ordinal = ?3 AND predicate >= ?4 AND predicate <= ?5

-- name: erase_transitions
DELETE FROM transitions
WHERE claim_pk IN (SELECT pk FROM claims WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2))

-- name: erase_claims
DELETE FROM claims WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2)

-- name: erase_versions
DELETE FROM versions WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2)

-- name: erase_extents
DELETE FROM extents WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2)

-- name: erase_support
DELETE FROM support WHERE slot_pk = ?1 AND (?2 IS NULL OR value_key = ?2)

-- name: erase_slot
DELETE FROM slots WHERE pk = ?1

-- name: put_entity
INSERT INTO entities (tenant_pk, namespace, position, ordinal, key) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: name
SELECT pk FROM names WHERE tenant_pk = ?1 AND name = ?2

-- name: put_name
INSERT INTO names (tenant_pk, name) VALUES (?1, ?2) RETURNING pk

-- name: put_episode
INSERT INTO episodes (tenant_pk, episode, source_pk, root_pk, observed_at) VALUES (?1, ?2, ?3, ?4, ?5)

-- name: episode_pk
SELECT pk FROM episodes WHERE tenant_pk = ?1 AND episode = ?2

-- name: last_slot
SELECT coalesce(max(pk), 0) FROM slots

-- name: put_slot
INSERT INTO slots (pk, scope_pk, subject_position, subject_ordinal, predicate, language,
  version, last_observed, last_position, last_ordinal, functional, plain, trust, rejected)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: move_slot
UPDATE slots SET version = ?2, last_observed = ?3, last_position = ?4, last_ordinal = ?5, functional = ?6, plain = ?7,
  trust = ?8, rejected = ?9
WHERE pk = ?1

-- name: put_claim
INSERT INTO claims (tenant_pk, position, ordinal, observed_at, asserts, value_key, functional,
  start_kind, start_lo, start_hi, end_kind, end_lo, end_hi,
  slot_pk, value_type, value_text, value_qualifier, stated_from, stated_to, zone, semantics,
  observed_stated, source_pk, episode_pk, root_pk, confidence, schema_version, principal_pk, recorded_at,
  trust, echo, expires_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: put_transition
INSERT INTO transitions (claim_pk, position, recorded_at, state, rule, reason, actor, decided_on,
  successor_position, successor_ordinal)
SELECT pk, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12 FROM claims WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: change_claim
UPDATE claims SET state = ?4, folded = ?5, held_by = ?6,
  held_in = CASE WHEN ?6 IS NULL THEN NULL ELSE (SELECT s.scope_pk FROM slots s WHERE s.pk = slot_pk) END
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: may_expire
-- A claim that expires may show in what is believed of its value.
UPDATE versions SET may_expire_at = min(may_expire_at, ?3)
WHERE slot_pk = ?1 AND value_key = ?2 AND recorded_to = 4611686018427387904

-- name: close_version
UPDATE versions SET recorded_to = ?4 WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: put_version
INSERT INTO versions (tenant_pk, scope_pk, slot_pk, position, ordinal, value_type, value_text, value_qualifier, value_key,
  certain, valid_from, valid_to, recorded_from, recorded_to, may_expire_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14,
  (SELECT coalesce(min(c.expires_at), 4611686018427387904) FROM claims c INDEXED BY claims_expiring
   WHERE c.slot_pk = ?3 AND c.value_key = ?9 AND c.expires_at < 4611686018427387904))

-- name: hide_extent
UPDATE extents SET recorded_to = ?7
WHERE slot_pk = ?1 AND value_key = ?2 AND valid_from = ?3 AND claim_position = ?4 AND claim_ordinal = ?5
  AND valid_to = ?6 AND recorded_to = 4611686018427387904

-- name: show_extent
INSERT INTO extents (slot_pk, value_key, valid_from, claim_position, claim_ordinal, valid_to, recorded_from, recorded_to)
VALUES (?, ?, ?, ?, ?, ?, ?, 4611686018427387904)

-- name: put_support
INSERT INTO support (slot_pk, value_key, recorded_from, sources, occurrences, doubt) VALUES (?, ?, ?, ?, ?, ?)

-- name: put_event
INSERT INTO events (tenant_pk, position, recorded_at, kind, principal, restated, previous, digest)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) RETURNING pk

-- name: put_payload
INSERT INTO payloads (event_pk, place, tenant_pk, subject_position, subject_ordinal, digest, restated, salt, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)

-- name: restate_payload
UPDATE payloads INDEXED BY payloads_by_subject SET restated = ?5, salt = ?6, body = ?7
WHERE tenant_pk = ?1 AND subject_position = ?3 AND subject_ordinal = ?4
  AND event_pk = (SELECT pk FROM events WHERE tenant_pk = ?1 AND position = ?2)

-- name: put_answer
INSERT INTO answers (tenant, principal, key, request, receipt, until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (tenant, principal, key) DO UPDATE SET
  request = excluded.request, receipt = excluded.receipt, until = excluded.until

-- name: forget_answers
DELETE FROM answers WHERE tenant = ?1 AND until < ?2

-- name: ledger_schemas
SELECT document FROM schemas WHERE tenant_pk = ?1 ORDER BY version, position

-- name: ledger_entities
SELECT namespace, position, ordinal, key FROM entities WHERE tenant_pk = ?1 ORDER BY position, ordinal

-- name: ledger_episodes
SELECT p.episode, source.name, p.observed_at, root.name
FROM episodes p JOIN names source ON source.pk = p.source_pk JOIN names root ON root.pk = p.root_pk
WHERE p.tenant_pk = ?1 ORDER BY p.episode

-- name: ledger_claims
SELECT c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  s.subject_position, s.subject_ordinal, s.predicate, s.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, source.name, p.episode, root.name, c.confidence,
  c.schema_version, principal.name, c.recorded_at, c.trust, c.echo, c.expires_at,
  o.namespace, o.purpose
FROM claims c
JOIN slots s ON s.pk = c.slot_pk
JOIN scopes o ON o.pk = s.scope_pk
JOIN names source ON source.pk = c.source_pk
JOIN names root ON root.pk = c.root_pk
JOIN names principal ON principal.pk = c.principal_pk
LEFT JOIN episodes p ON p.pk = c.episode_pk
WHERE c.tenant_pk = ?1 ORDER BY c.position, c.ordinal

-- name: ledger_transitions
SELECT c.position, c.ordinal, t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
  t.successor_position, t.successor_ordinal
FROM claims c CROSS JOIN transitions t ON t.claim_pk = c.pk
WHERE c.tenant_pk = ?1 ORDER BY c.position, c.ordinal, t.position

-- name: ledger_versions
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.subject_position, s.subject_ordinal, s.predicate, s.language, o.namespace, o.purpose
FROM versions v JOIN slots s ON s.pk = v.slot_pk JOIN scopes o ON o.pk = v.scope_pk
WHERE v.tenant_pk = ?1 ORDER BY v.position, v.ordinal

-- name: ledger_support
SELECT u.value_key, u.recorded_from, u.sources, u.occurrences, u.doubt,
  s.subject_position, s.subject_ordinal, s.predicate, s.language, o.namespace, o.purpose
FROM scopes o JOIN slots s ON s.scope_pk = o.pk JOIN support u ON u.slot_pk = s.pk
WHERE o.tenant_pk = ?1
ORDER BY u.recorded_from, o.namespace, o.purpose, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  u.value_key

-- name: key
SELECT prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at, revoked_at,
  revoked_by
FROM api_keys WHERE digest = ?1

-- name: has_keys
SELECT EXISTS (SELECT 1 FROM api_keys WHERE prefix > '')

-- name: keys
SELECT prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at, revoked_at,
  revoked_by
FROM api_keys WHERE tenant = ?1 AND prefix > ?2 ORDER BY prefix LIMIT ?3

-- name: put_key
INSERT INTO api_keys (prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
ON CONFLICT DO NOTHING
RETURNING prefix

-- name: revoke_key
UPDATE api_keys SET revoked_by = CASE WHEN revoked_at IS NULL THEN ?4 ELSE revoked_by END,
  revoked_at = coalesce(revoked_at, ?3)
WHERE tenant = ?1 AND prefix = ?2
RETURNING prefix, digest, tenant, principal, kind, permits, may_import, created_at, created_by, expires_at, revoked_at,
  revoked_by

-- name: owner
SELECT namespace, owner, since, decided_by FROM owners WHERE tenant = ?1 AND namespace = ?2

-- name: owners
SELECT namespace, owner, since, decided_by FROM owners
WHERE tenant = ?1 AND namespace > ?2 ORDER BY namespace LIMIT ?3

-- name: put_owner
INSERT INTO owners (tenant, namespace, owner, since, decided_by) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (tenant, namespace) DO UPDATE SET
  owner = excluded.owner, since = excluded.since, decided_by = excluded.decided_by
