-- What walks ask, by name: see the head of queries.sql. Of what has very many facts no more are read than are given:
-- versions come in the order of an index, and within one start in that in which they were put in, which is that of
-- their recorded times and ordinals.

-- name: edges_from
-- The facts about an entity that are visible at (?4, ?5), latest to hold first, ?6 at most, also of each slot. In a
-- functional slot nothing lies beside a certain version, so none begins before the last one or its end.
SELECT v.position, v.ordinal, iif(v.value_type = 'entity', v.value_text, NULL), v.recorded_from
FROM slots s CROSS JOIN versions v
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3
  AND v.pk IN (
    SELECT f.pk FROM versions f INDEXED BY versions_by_valid
    WHERE f.slot_pk = s.pk AND f.valid_from <= ?4 AND f.valid_to > ?4 AND f.recorded_from <= ?5 AND f.recorded_to > ?5
      AND f.valid_from >= CASE s.functional WHEN 1 THEN coalesce(
        (SELECT CASE WHEN c.valid_to > ?4 THEN c.valid_from ELSE c.valid_to END
         FROM versions c INDEXED BY versions_by_valid
         WHERE c.slot_pk = s.pk AND c.valid_from <= ?4 AND c.recorded_from <= ?5 AND c.recorded_to > ?5 AND c.certain = 1
         ORDER BY c.valid_from DESC, c.recorded_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
      AND (f.may_expire_at > ?7 OR EXISTS (
        SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = f.tenant_pk AND y.position = x.claim_position
          AND y.ordinal = x.claim_ordinal
        WHERE x.slot_pk = f.slot_pk AND x.value_key = f.value_key AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
          AND x.recorded_from <= ?5 AND x.recorded_to > ?5 AND y.expires_at > ?7))
    ORDER BY f.valid_from DESC, f.recorded_from DESC, f.pk DESC LIMIT ?6)
ORDER BY v.valid_from DESC, v.recorded_from DESC, v.ordinal DESC LIMIT ?6

-- name: edges_to
-- The facts that have the value ?2 and are visible at (?3, ?4), latest to hold first.
SELECT v.position, v.ordinal, iif(v.value_type = 'entity', v.value_text, NULL), v.recorded_from,
  s.subject_position, s.subject_ordinal
FROM versions v INDEXED BY versions_by_value JOIN slots s ON s.pk = v.slot_pk
WHERE v.scope_pk = ?1 AND v.value_key = ?2 AND v.valid_from <= ?3 AND v.valid_to > ?3
  AND v.recorded_from <= ?4 AND v.recorded_to > ?4
  AND (v.may_expire_at > ?6 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?4 AND x.recorded_to > ?4 AND y.expires_at > ?6))
ORDER BY v.valid_from DESC, v.pk DESC LIMIT ?5

-- name: facts
-- `fact` for many: ?1 lists [position, ordinal] as JSON. The key of the version comes last.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to,
  s.pk, s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain,
  u.recorded_from, u.sources, u.occurrences, u.doubt, v.may_expire_at, v.pk
FROM json_each(?1) j
CROSS JOIN versions v ON v.tenant_pk = ?2 AND v.position = json_extract(j.value, '$[0]')
  AND v.ordinal = json_extract(j.value, '$[1]') AND v.scope_pk = ?3
JOIN slots s ON s.pk = v.slot_pk
LEFT JOIN support u ON u.slot_pk = v.slot_pk AND u.value_key = v.value_key
  AND u.recorded_from = (SELECT n.recorded_from FROM support n
    WHERE n.slot_pk = v.slot_pk AND n.value_key = v.value_key AND n.recorded_from <= min(?4, v.recorded_to - 1)
    ORDER BY n.recorded_from DESC LIMIT 1)

-- name: edges_of_facts
-- `edges_of` for many, the kinds of start (0) and of end (1) alone: ?1 lists keys of versions as JSON; each is looked
-- at as known at ?3, or when last believed.
SELECT v.pk, 0, c.start_kind
FROM json_each(?1) j
CROSS JOIN versions v ON v.pk = j.value
JOIN extents e ON e.slot_pk = v.slot_pk AND e.value_key = v.value_key AND e.valid_from = v.valid_from
  AND e.recorded_from <= min(?3, v.recorded_to - 1) AND e.recorded_to > min(?3, v.recorded_to - 1)
JOIN claims c ON c.tenant_pk = ?2 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
UNION
SELECT v.pk, 1, c.end_kind
FROM json_each(?1) j
CROSS JOIN versions v ON v.pk = j.value
JOIN extents e ON e.slot_pk = v.slot_pk AND e.value_key = v.value_key
  AND e.valid_from >= v.valid_from AND e.valid_from < v.valid_to AND e.valid_to = v.valid_to
  AND e.recorded_from <= min(?3, v.recorded_to - 1) AND e.recorded_to > min(?3, v.recorded_to - 1)
JOIN claims c ON c.tenant_pk = ?2 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal

-- name: expiry_of_facts
-- `expiry_of` for many.
SELECT v.pk, max(c.expires_at)
FROM json_each(?1) j
CROSS JOIN versions v ON v.pk = j.value
JOIN extents e ON e.slot_pk = v.slot_pk AND e.value_key = v.value_key
  AND e.valid_from >= v.valid_from AND e.valid_from < v.valid_to
  AND e.recorded_from <= min(?3, v.recorded_to - 1) AND e.recorded_to > min(?3, v.recorded_to - 1)
JOIN claims c ON c.tenant_pk = ?2 AND c.position = e.claim_position AND c.ordinal = e.claim_ordinal
GROUP BY v.pk

-- name: entity_edges
-- Of one slot what is visible at (?5, ?6) and points at an entity.
SELECT v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
  v.valid_from, v.valid_to, v.recorded_from, v.recorded_to
FROM slots s JOIN versions v INDEXED BY versions_by_valid ON v.slot_pk = s.pk
WHERE s.scope_pk = ?1 AND s.subject_position = ?2 AND s.subject_ordinal = ?3 AND s.predicate = ?4 AND s.language = ?9
  AND v.valid_from <= ?5 AND v.valid_to > ?5 AND v.recorded_from <= ?6 AND v.recorded_to > ?6 AND v.value_type = 'entity'
  AND v.valid_from >= CASE s.functional WHEN 1 THEN coalesce(
    (SELECT CASE WHEN c.valid_to > ?5 THEN c.valid_from ELSE c.valid_to END
     FROM versions c INDEXED BY versions_by_valid
     WHERE c.slot_pk = s.pk AND c.valid_from <= ?5 AND c.recorded_from <= ?6 AND c.recorded_to > ?6 AND c.certain = 1
     ORDER BY c.valid_from DESC, c.recorded_from DESC LIMIT 1), -4611686018427387904) ELSE -4611686018427387904 END
  AND (v.may_expire_at > ?8 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?6 AND x.recorded_to > ?6 AND y.expires_at > ?8))
ORDER BY v.valid_from, v.recorded_from, v.ordinal LIMIT ?7
