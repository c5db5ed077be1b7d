// Every query of the store by name. Text is constant, values are parameters.
//
// 4611686018427387904 (2^62) is the open end of valid and of recorded time. The keys `pair`, `slot`, `said`, `held`
// and so on are those of keys.py; each holds the scope. Facts come as lists: the version, the place, predicate and
// language of its subject, its slot's `plain`, its support, `said`, `may_expire_at`; where several are in question the caller sorts.
// What reads by `recorded_to` gives the Clock as it stood after that: if it moved past `known_at`, ask as of then.
// Where there is a choice of indexes a query names one, for its first plan is made when there is nothing to choose by.
// `0 + x` keeps the bound of a page from being taken for the range of the seek, which is another.
// What is not to be sought has a key that is null: a filter in front would come after the seek, to each of its rows.

// name: head
MATCH (c:Clock {tenant: $tenant})
RETURN c.ledger, c.position, c.recorded_at, c.digest, c.erasures, c.schema_version,
  c.previous_position, c.previous_recorded_at, c.previous_digest, c.previous_erasures, c.previous_schema_version,
  abs(timestamp() - c.written_at) > $settled

// name: lock
// The first statement of every write: a constant SET takes the lock before anything is read.
MATCH (c:Clock {tenant: $tenant})
SET c.locked_by = $nonce
WITH c
RETURN c.ledger, c.position, c.recorded_at, c.digest, c.erasures, c.schema_version

// name: tenants
MATCH (c:Clock) WHERE c.position > 0 RETURN c.tenant ORDER BY c.tenant

// name: scopes
MATCH (s:Scope) USING INDEX SEEK s:Scope(tenant)
WHERE s.tenant = $tenant AND (EXISTS { MATCH (l:Slot) WHERE l.scope = s.scope AND l.subject_position >= 0 }
  OR EXISTS { MATCH (k:Kept) WHERE k.scope = s.scope AND k.position > 0 })
RETURN s.namespace, s.purpose ORDER BY s.namespace, s.purpose

// name: newest_schema
MATCH (s:Schema) WHERE s.tenant = $tenant AND s.position <= $position
RETURN s.document ORDER BY s.tenant DESC, s.position DESC LIMIT 1

// name: entity_by_key
UNWIND $keys AS key
MATCH (e:Entity) USING INDEX SEEK e:Entity(tenant, namespace, key)
WHERE e.tenant = $tenant AND e.namespace = $namespace AND e.key = key AND e.position <= $position
RETURN e.position, e.ordinal, e.key

// name: entity_by_id
UNWIND $places AS place
MATCH (e:Entity {place: place}) WHERE e.namespace = $namespace AND e.position <= $position
RETURN e.position, e.ordinal, e.key

// name: entities_after
MATCH (e:Entity) USING INDEX SEEK e:Entity(tenant, namespace, position)
WHERE e.tenant = $tenant AND e.namespace = $namespace AND e.position >= $after[0] AND e.position <= $position
  AND (e.position > $after[0] OR e.ordinal > $after[1])
WITH e ORDER BY e.tenant, e.namespace, e.position, e.ordinal LIMIT $limit
CALL (e) {
  MATCH (s:Slot) WHERE s.entity = e.place AND s.scope = $scope
  CALL (s) {
    MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
    WHERE f.slot = s.slot AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
      AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
      AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
        MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
        WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
          AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
          AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    RETURN 1 AS one LIMIT 1
  }
  RETURN count(one) > 0 AS is_subject
}
CALL (e) {
  MATCH ()-[f:FACT]->(e)
  WHERE f.scope = $scope AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  WITH f LIMIT 1
  RETURN count(f) > 0 AS is_value
}
RETURN e.position, e.ordinal, e.key, is_subject OR is_value

// name: subjects_holding
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
WHERE f.held = $held AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND f.predicate IN $predicates
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (f.subject_position > $after[0] OR (f.subject_position = $after[0] AND f.subject_ordinal > $after[1]))
WITH DISTINCT f.subject_position AS position, f.subject_ordinal AS ordinal
ORDER BY position, ordinal LIMIT $limit
MATCH (e:Entity {place: $tenant + '|' + position + '|' + ordinal})
WITH e, position, ordinal
CALL (e) {
  WITH e WHERE $type IS NOT NULL
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
  WHERE f.held = $type AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND f.predicate = 'type'
    AND f.subject_position = e.position AND f.subject_ordinal = e.ordinal
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  WITH f LIMIT 1
  RETURN count(f) > 0 AS typed
}
RETURN position, ordinal, e.key, typed OR $type IS NULL

// name: state_now
// In a functional slot nothing lies beside a certain version: the last one that has begun holds, or it ended and
// only possible ones that begin after its end can.
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_to, valid_from)
  WHERE c.slot = key AND c.recorded_to = 4611686018427387904 AND c.valid_from <= $valid_at AND c.certain
  WITH c ORDER BY c.slot DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $valid_at THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, coalesce(low, -4611686018427387904) AS low
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_to, valid_from)
WHERE f.slot = s.slot AND f.recorded_to = 4611686018427387904 AND f.valid_from >= low AND f.valid_from <= $valid_at
  AND f.valid_to > $valid_at AND (f.certain OR NOT $certain)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
    AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
WITH collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]) AS rows
OPTIONAL MATCH (c:Clock {tenant: $tenant})
RETURN rows, c.recorded_at

// name: state_as_of
// For each slot, of a functional one the certain version that decides: the last one begun by valid_at among those
// visible at known_at. It is sought backwards a little along valid time, then along recorded time, then all the way
// along the older of the two coordinates.
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
  WHERE c.slot = key AND c.valid_from <= $valid_at AND c.recorded_from >= -4611686018427387904
  WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 24
  WITH c WHERE c.certain AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
  WITH c ORDER BY c.valid_from DESC, c.recorded_from DESC LIMIT 1
  RETURN collect([c.valid_from, c.valid_to])[0] AS near_valid
}
CALL (s, near_valid) {
  WITH CASE WHEN s.functional AND near_valid IS NULL THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_from, valid_from)
  WHERE c.slot = key AND c.recorded_from <= $known_at AND c.valid_from >= -4611686018427387904
  WITH c ORDER BY c.slot DESC, c.recorded_from DESC, c.valid_from DESC LIMIT 24
  WITH c WHERE c.certain AND c.recorded_to > $known_at AND c.valid_from <= $valid_at AND c.valid_to > $valid_at
  WITH c LIMIT 1
  RETURN collect([c.valid_from, c.valid_to])[0] AS near_recorded
}
WITH s, coalesce(near_valid, near_recorded) AS near
CALL (s, near) {
  WITH CASE WHEN s.functional AND near IS NULL AND $known_at < $valid_at THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_from, valid_from)
  WHERE c.slot = key AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
    AND c.certain AND c.valid_from <= $valid_at AND c.valid_to > $valid_at
  WITH c ORDER BY c.slot DESC, c.recorded_from DESC, c.valid_from DESC LIMIT 1
  RETURN collect([c.valid_from, c.valid_to])[0] AS far_recorded
}
CALL (s, near) {
  WITH CASE WHEN s.functional AND near IS NULL AND $known_at >= $valid_at THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
  WHERE c.slot = key AND c.valid_from <= $valid_at AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
    AND c.certain
  WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 1
  RETURN collect([c.valid_from, c.valid_to])[0] AS far_valid
}
WITH s, coalesce(near, far_recorded, far_valid) AS decides
WITH s,
  CASE WHEN decides IS NULL THEN -4611686018427387904
    WHEN decides[1] > $valid_at THEN decides[0] ELSE decides[1] END AS low,
  CASE WHEN decides IS NULL OR decides[1] <= $valid_at THEN $valid_at ELSE decides[0] END AS high
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
WHERE f.slot = s.slot AND f.valid_from >= low AND f.valid_from <= high AND f.valid_to > $valid_at
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
    AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: fact
MATCH ()-[f:FACT]->() WHERE f.place = $place AND f.scope = $scope AND f.position <= $position
MATCH (s:Slot {slot: f.slot})
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from < f.recorded_to AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: edges_of
// For each [number, said, valid_from, valid_to, known_at] which kinds of start have the claims that show at its first
// instant, and which kinds of end those that show at its last.
UNWIND $versions AS v
CALL (v) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
  WHERE x.said = v[1] AND x.valid_from = v[2] AND x.recorded_from <= v[4] AND x.recorded_to > v[4]
  RETURN collect(DISTINCT c.start_kind) AS starts
}
CALL (v) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
  WHERE x.said = v[1] AND x.valid_from >= v[2] AND x.valid_from < v[3] AND x.valid_to = v[3]
    AND x.recorded_from <= v[4] AND x.recorded_to > v[4]
  RETURN collect(DISTINCT c.end_kind) AS ends
}
RETURN v[0], starts, ends

// name: expiry_of
// For each [number, said, valid_from, valid_to, known_at] when the last of the claims expires that show in it.
UNWIND $versions AS v
CALL (v) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
  WHERE x.said = v[1] AND x.valid_from >= v[2] AND x.valid_from < v[3]
    AND x.recorded_from <= v[4] AND x.recorded_to > v[4]
  RETURN max(coalesce(c.expires_at, 4611686018427387904)) AS expires_at
}
RETURN v[0], expires_at

// name: history_now
// Versions that meet [since, until); that a slot is functional bounds what reaches in.
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_to, valid_from)
  WHERE c.slot = key AND c.recorded_to = 4611686018427387904 AND c.valid_from <= $since AND c.certain
  WITH c ORDER BY c.slot DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $since THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, CASE WHEN low > $after[0] THEN low ELSE $after[0] END AS low
CALL (s, low) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_to, valid_from)
  WHERE f.slot = s.slot AND f.recorded_to = 4611686018427387904 AND f.valid_from >= low AND f.valid_from < $until
    AND f.valid_to > $since AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
      AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
  RETURN f ORDER BY f.slot, f.recorded_to, f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
}
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
WITH collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]) AS rows
OPTIONAL MATCH (c:Clock {tenant: $tenant})
RETURN rows, c.recorded_at

// name: history_now_backwards
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_to, valid_from)
  WHERE c.slot = key AND c.recorded_to = 4611686018427387904 AND c.valid_from <= $since AND c.certain
  WITH c ORDER BY c.slot DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $since THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, coalesce(low, -4611686018427387904) AS low
CALL (s, low) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_to, valid_from)
  WHERE f.slot = s.slot AND f.recorded_to = 4611686018427387904 AND f.valid_from >= low AND f.valid_from <= $after[0]
    AND f.valid_from < $until AND f.valid_to > $since AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.valid_from < $after[0] OR (f.valid_from = $after[0]
      AND (f.recorded_from < $after[1] OR (f.recorded_from = $after[1] AND f.ordinal < $after[2]))))
  RETURN f
  ORDER BY f.slot DESC, f.recorded_to DESC, f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
}
WITH s, f ORDER BY f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
WITH collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]) AS rows
OPTIONAL MATCH (c:Clock {tenant: $tenant})
RETURN rows, c.recorded_at

// name: history_as_of
// As `history_now`: what reaches in is found backwards from $since.
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
  WHERE c.slot = key AND c.valid_from <= $since AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
    AND c.certain
  WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $since THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, CASE WHEN low > $after[0] THEN low ELSE $after[0] END AS low
CALL (s, low) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
  WHERE f.slot = s.slot AND f.valid_from >= low AND f.valid_from < $until AND f.valid_to > $since
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
      AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
  RETURN f ORDER BY f.slot, f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
}
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: history_as_of_backwards
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
  WHERE c.slot = key AND c.valid_from <= $since AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
    AND c.certain
  WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $since THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, coalesce(low, -4611686018427387904) AS low
CALL (s, low) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
  WHERE f.slot = s.slot AND f.valid_from >= low AND f.valid_from <= $after[0] AND f.valid_from < $until
    AND f.valid_to > $since AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
    AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.valid_from < $after[0] OR (f.valid_from = $after[0]
      AND (f.recorded_from < $after[1] OR (f.recorded_from = $after[1] AND f.ordinal < $after[2]))))
  RETURN f ORDER BY f.slot DESC, f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
}
WITH s, f ORDER BY f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: history_by_recorded
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_from, valid_from)
  WHERE f.slot = s.slot AND f.recorded_from >= $after[0] AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
    AND f.valid_from < $until AND f.valid_to > $since AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.recorded_from > $after[0] OR (f.recorded_from = $after[0]
      AND (f.ordinal > $after[1] OR (f.ordinal = $after[1] AND f.valid_from > $after[2]))))
  RETURN f ORDER BY f.slot, f.recorded_from, f.ordinal, f.valid_from LIMIT $limit
}
WITH s, f ORDER BY f.recorded_from, f.ordinal, f.valid_from LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: holders
// Versions with a value that meet [since, until), as visible at known_at.
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
WHERE f.held = $held AND f.valid_from >= $after[0] AND f.valid_from < $until AND f.valid_to > $since
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
  AND ($predicate IS NULL OR f.predicate = $predicate)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
    AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
WITH f ORDER BY f.held, f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
MATCH (s:Slot {slot: f.slot})
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: holders_backwards
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
WHERE f.held = $held AND f.valid_from <= $after[0] AND f.valid_from < $until AND f.valid_to > $since
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
  AND ($predicate IS NULL OR f.predicate = $predicate)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.valid_from < $after[0] OR (f.valid_from = $after[0]
    AND (f.recorded_from < $after[1] OR (f.recorded_from = $after[1] AND f.ordinal < $after[2]))))
WITH f ORDER BY f.held DESC, f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
MATCH (s:Slot {slot: f.slot})
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: holders_by_recorded
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
WHERE f.held = $held AND f.valid_from < $until AND f.valid_to > $since
  AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
  AND ($predicate IS NULL OR f.predicate = $predicate)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.recorded_from > $after[0] OR (f.recorded_from = $after[0]
    AND (f.ordinal > $after[1] OR (f.ordinal = $after[1] AND f.valid_from > $after[2]))))
WITH f ORDER BY f.recorded_from, f.ordinal, f.valid_from LIMIT $limit
MATCH (s:Slot {slot: f.slot})
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: of_predicate_now
MATCH (s:Slot) USING INDEX SEEK s:Slot(scope, predicate, subject_position)
WHERE s.scope = $scope AND s.predicate = $predicate AND s.subject_position >= 0
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_to, valid_from)
  WHERE c.slot = key AND c.recorded_to = 4611686018427387904 AND c.valid_from <= $valid_at AND c.certain
  WITH c ORDER BY c.slot DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $valid_at THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH s, coalesce(low, -4611686018427387904) AS low
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_to, valid_from)
WHERE f.slot = s.slot AND f.recorded_to = 4611686018427387904 AND f.valid_from >= low AND f.valid_from <= $valid_at
  AND f.valid_to > $valid_at AND (f.certain OR NOT $certain)
  AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
    MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
    WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
      AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
      AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
    AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
WITH collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]) AS rows
OPTIONAL MATCH (c:Clock {tenant: $tenant})
RETURN rows, c.recorded_at

// name: of_predicate_as_of
MATCH (s:Slot) USING INDEX SEEK s:Slot(scope, predicate, subject_position)
WHERE s.scope = $scope AND s.predicate = $predicate AND s.subject_position >= 0
CALL (s) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
  WHERE f.slot = s.slot AND f.valid_from >= $after[0] AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND (f.certain OR NOT $certain)
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    AND (0 + f.valid_from > $after[0] OR (f.valid_from = $after[0]
      AND (f.recorded_from > $after[1] OR (f.recorded_from = $after[1] AND f.ordinal > $after[2]))))
  RETURN f
}
WITH s, f ORDER BY f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: audit
// Rectangles whose valid time meets [valid_since, valid_until) and of which a recorded bound lies in [since, until);
// each is shown as known when it was last believed.
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_from, valid_from)
  WHERE f.slot = s.slot AND f.recorded_from >= $after[0] AND f.recorded_from < $until
    AND f.valid_to > $valid_since AND f.valid_from < $valid_until
    AND (f.recorded_from >= $since OR (f.recorded_to >= $since AND f.recorded_to < $until))
    AND (0 + f.recorded_from > $after[0] OR (f.recorded_from = $after[0]
      AND (f.ordinal > $after[1] OR (f.ordinal = $after[1] AND f.valid_from > $after[2]))))
  RETURN f ORDER BY f.slot, f.recorded_from, f.ordinal, f.valid_from LIMIT $limit
}
WITH s, f ORDER BY f.recorded_from, f.ordinal, f.valid_from LIMIT $limit
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from < f.recorded_to AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
RETURN [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, s.plain, held, f.said, f.may_expire_at]

// name: served
// Over which recorded times the claims of versions show in them, and when each expires; of one that may not, nothing.
UNWIND $places AS place
MATCH ()-[f:FACT]->() WHERE f.place = place AND f.scope = $scope AND f.may_expire_at IS NOT NULL
CALL (f) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
  WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
    AND x.recorded_from <= $known_at
  RETURN collect([x.recorded_from, x.recorded_to, coalesce(c.expires_at, 4611686018427387904)]) AS shown
}
RETURN place, shown

// name: evidence
// For each [number, place, since, until, known_at] the first claims of a version; the number comes last.
UNWIND $asked AS a
MATCH ()-[f:FACT]->() WHERE f.place = a[1] AND f.scope = $scope
CALL (a, f) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
  WHERE x.said = f.said AND x.valid_from >= a[2] AND x.valid_from < a[3]
    AND x.recorded_from <= a[4] AND x.recorded_to > a[4]
    AND (c.observed_at > $after[0] OR (c.observed_at = $after[0]
      AND (c.position > $after[1] OR (c.position = $after[1] AND c.ordinal > $after[2]))))
  WITH DISTINCT c
  RETURN c ORDER BY c.observed_at, c.position, c.ordinal LIMIT $limit
}
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]], a[0]

// name: claims_of_subject
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
CALL (s) {
  MATCH (c:Claim) USING INDEX SEEK c:Claim(slot, position)
  WHERE c.slot = s.slot AND c.position >= $after[0] AND c.position <= $position
    AND (c.position > $after[0] OR c.ordinal > $after[1])
  RETURN c ORDER BY c.slot, c.position, c.ordinal LIMIT $limit
}
WITH c ORDER BY c.position, c.ordinal LIMIT $limit
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]

// name: claim
MATCH (c:Claim {place: $place}) WHERE c.scope = $scope AND c.position <= $position
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]

// name: claims_of_episode
MATCH (c:Claim) USING INDEX SEEK c:Claim(scope, episode)
WHERE c.scope = $scope AND c.episode = $episode AND c.asserts AND c.position <= $position AND c.ended_position > $position
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: claims_of_source
MATCH (c:Claim) USING INDEX SEEK c:Claim(scope, source)
WHERE c.scope = $scope AND c.source = $source AND c.asserts AND c.position <= $position AND c.ended_position > $position
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: held
// Claims that wait in a scope; that they did, and by which rule, never changes.
MATCH (c:Claim) USING INDEX SEEK c:Claim(held_in, position)
WHERE c.held_in = $scope AND c.position >= $after[0] AND c.position <= $position
  AND c.folded_position > $position AND c.ended_position > $position
  AND c.held_state IN $states AND ($rule IS NULL OR c.held_by = $rule)
  AND (c.position > $after[0] OR c.ordinal > $after[1])
WITH c ORDER BY c.held_in, c.position, c.ordinal LIMIT $limit
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]

// name: held_counts
MATCH (c:Claim) USING INDEX SEEK c:Claim(held_in, position)
WHERE c.held_in = $scope AND c.position <= $position AND c.folded_position > $position AND c.ended_position > $position
RETURN c.held_state, c.held_by, count(c)

// name: overdue
// Whoever ends a claim under the lock looks at it again, so that it does no harm if a commit got in between.
MATCH (c:Claim) USING INDEX SEEK c:Claim(due_in, expires_at)
WHERE c.due_in = $scope AND c.expires_at <= $now AND c.position <= $position AND c.folded_position <= $position
  AND (0 + c.expires_at > $after[0] OR (c.expires_at = $after[0]
    AND (c.position > $after[1] OR (c.position = $after[1] AND c.ordinal > $after[2]))))
WITH c ORDER BY c.due_in, c.expires_at, c.position, c.ordinal LIMIT $limit
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.expires_at, c.position, c.ordinal

// name: slot
UNWIND $slots AS slot
MATCH (s:Slot {slot: slot}) WHERE s.made_at <= $position
RETURN s.slot, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected

// name: slot_with_present
// The same with what is believed of it now, up to $most rows of each kind: under the lock, for a writer.
UNWIND $slots AS slot
MATCH (s:Slot) USING INDEX SEEK s:Slot(slot) WHERE s.slot = slot AND s.made_at <= $position
CALL (s) {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(slot, recorded_to, valid_from)
  WHERE v.slot = s.slot AND v.recorded_to = 4611686018427387904 AND v.valid_from >= -4611686018427387904
  WITH v LIMIT $most
  RETURN collect([v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
    v.valid_from, v.valid_to, v.recorded_from, v.recorded_to]) AS versions
}
CALL (s) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(slot, recorded_to, valid_from)
  WHERE x.slot = s.slot AND x.recorded_to = 4611686018427387904 AND x.valid_from >= -4611686018427387904
  WITH x, c LIMIT $most
  RETURN collect([x.valid_from, x.valid_to, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key,
    c.functional, c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi]) AS extents
}
CALL (s) {
  MATCH (u:Support) USING INDEX SEEK u:Support(slot) WHERE u.slot = s.slot
  WITH u LIMIT $most
  RETURN collect([u.value_key, u.recorded_from, u.sources, u.occurrences, u.doubt]) AS support
}
RETURN s.slot, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected, versions, extents, support

// name: slot_as_of
// The heads of slots that have changed since the snapshot, told by what had happened until then.
UNWIND $slots AS slot
MATCH (c:Claim) USING INDEX SEEK c:Claim(slot, position)
WHERE c.slot = slot AND c.position <= $position
WITH slot, c, c.folded_position <= $position AS folded,
  c.folded_position <= $position AND c.ended_position > $position AS stands
ORDER BY c.observed_at, c.position, c.ordinal
RETURN slot, max(CASE WHEN stands THEN c.folded_position WHEN folded THEN c.ended_position ELSE 0 END),
  last(collect(CASE WHEN stands THEN [c.observed_at, c.position, c.ordinal] END)),
  min(CASE WHEN c.functional OR NOT folded THEN 1 ELSE 0 END) = 1,
  min(CASE WHEN NOT folded OR NOT c.asserts OR (c.start_kind = 0 AND c.end_kind IN [0, 1]) THEN 1 ELSE 0 END) = 1

// name: slots_of
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
WITH s WHERE s.made_at <= $position
RETURN s.slot, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected
ORDER BY s.predicate, s.language

// name: slots_after
MATCH (s:Slot) USING INDEX SEEK s:Slot(scope, subject_position)
WHERE s.scope = $scope AND s.subject_position >= $after[0] AND s.made_at <= $position
  AND (s.subject_position > $after[0] OR s.subject_ordinal > $after[1] OR (s.subject_ordinal = $after[1]
    AND (s.predicate > $after[2] OR (s.predicate = $after[2] AND s.language > $after[3]))))
WITH s ORDER BY s.scope, s.subject_position, s.subject_ordinal, s.predicate, s.language LIMIT $limit
RETURN s.slot, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected

// name: slots_of_predicate_after
MATCH (s:Slot) USING INDEX SEEK s:Slot(scope, predicate, subject_position)
WHERE s.scope = $scope AND s.predicate = $predicate AND s.subject_position >= $after[0] AND s.made_at <= $position
  AND (s.subject_position > $after[0] OR s.subject_ordinal > $after[1] OR (s.subject_ordinal = $after[1]
    AND (s.predicate > $after[2] OR (s.predicate = $after[2] AND s.language > $after[3]))))
WITH s ORDER BY s.scope, s.predicate, s.subject_position, s.subject_ordinal, s.language LIMIT $limit
RETURN s.slot, s.subject_position, s.subject_ordinal, s.predicate, s.language,
  s.version, s.last_observed, s.last_position, s.last_ordinal, s.functional, s.plain, s.trust, s.rejected

// name: events_after
MATCH (a:Activity) WHERE a.tenant = $tenant AND a.position > $after AND a.position <= $position
WITH a ORDER BY a.tenant, a.position LIMIT $limit
CALL (a) {
  MATCH (p:Payload) WHERE p.tenant = $tenant AND p.position = a.position AND p.number >= 0
  WITH p ORDER BY p.number
  RETURN collect([p.subject_position, p.subject_ordinal, p.digest, p.restated, p.salt, p.body]) AS payloads
}
RETURN a.position, a.recorded_at, a.kind, a.principal, a.restated, a.previous, a.digest, payloads

// name: answered
MATCH (a:Answer {key: $key}) RETURN a.request, a.receipt

// name: window
// Current versions and extents from the start of the margin-th version that begins before $since to that of the
// margin-th that begins after $until, or all of them. That a slot is functional bounds what reaches in: the slot is found
// before the versions are sought, or 5.26 does not see that the index has them in order.
CALL () {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(slot, recorded_to, valid_from)
  WHERE v.slot = $slot AND v.recorded_to = 4611686018427387904 AND v.valid_from < $since
  WITH v ORDER BY v.slot DESC, v.recorded_to DESC, v.valid_from DESC SKIP $margin - 1 LIMIT 1
  RETURN max(v.valid_from) AS start
}
CALL () {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(slot, recorded_to, valid_from)
  WHERE v.slot = $slot AND v.recorded_to = 4611686018427387904 AND v.valid_from > $until
  WITH v ORDER BY v.slot, v.recorded_to, v.valid_from SKIP $margin - 1 LIMIT 1
  RETURN min(v.valid_from) AS end
}
WITH CASE WHEN $all THEN -4611686018427387904 ELSE coalesce(start, -4611686018427387904) END AS start,
  CASE WHEN $all THEN 4611686018427387904 ELSE coalesce(end, 4611686018427387904) END AS end
OPTIONAL MATCH (s:Slot {slot: $slot})
CALL (s, start) {
  WITH start, CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, recorded_to, valid_from)
  WHERE c.slot = key AND c.recorded_to = 4611686018427387904 AND c.valid_from <= start AND c.certain
  WITH start, c ORDER BY c.slot DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > start THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH start, end, coalesce(low, -4611686018427387904) AS low, $slot AS slot
CALL (start, end, low, slot) {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(slot, recorded_to, valid_from)
  WHERE v.slot = slot AND v.recorded_to = 4611686018427387904 AND v.valid_from >= low AND v.valid_from < end
    AND v.valid_to > start
  RETURN collect([v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
    v.valid_from, v.valid_to, v.recorded_from, v.recorded_to]) AS versions
}
CALL (start, end, low, slot) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(slot, recorded_to, valid_from)
  WHERE x.slot = slot AND x.recorded_to = 4611686018427387904 AND x.valid_from >= low AND x.valid_from < end
    AND x.valid_to > start
  RETURN collect([x.valid_from, x.valid_to, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key,
    c.functional, c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi]) AS extents
}
RETURN start, end, versions, extents

// name: window_of_value
// Versions of one value are disjoint: of those that began before the window only the last can reach into it.
CALL () {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(said, recorded_to, valid_from)
  WHERE v.said = $said AND v.recorded_to = 4611686018427387904 AND v.valid_from < $since
  WITH v ORDER BY v.said DESC, v.recorded_to DESC, v.valid_from DESC SKIP $margin - 1 LIMIT 1
  RETURN max(v.valid_from) AS start
}
CALL () {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(said, recorded_to, valid_from)
  WHERE v.said = $said AND v.recorded_to = 4611686018427387904 AND v.valid_from > $until
  WITH v ORDER BY v.said, v.recorded_to, v.valid_from SKIP $margin - 1 LIMIT 1
  RETURN min(v.valid_from) AS end
}
WITH CASE WHEN $all THEN -4611686018427387904 ELSE coalesce(start, -4611686018427387904) END AS start,
  CASE WHEN $all THEN 4611686018427387904 ELSE coalesce(end, 4611686018427387904) END AS end
CALL (start) {
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(said, recorded_to, valid_from)
  WHERE c.said = $said AND c.recorded_to = 4611686018427387904 AND c.valid_from <= start
  WITH c ORDER BY c.said DESC, c.recorded_to DESC, c.valid_from DESC LIMIT 1
  RETURN max(c.valid_from) AS low
}
WITH start, end, coalesce(low, -4611686018427387904) AS low, $said AS said
CALL (start, end, low, said) {
  MATCH ()-[v:FACT]->() USING INDEX SEEK v:FACT(said, recorded_to, valid_from)
  WHERE v.said = said AND v.recorded_to = 4611686018427387904 AND v.valid_from >= low AND v.valid_from < end
    AND v.valid_to > start
  RETURN collect([v.position, v.ordinal, v.value_type, v.value_text, v.value_qualifier, v.value_key, v.certain,
    v.valid_from, v.valid_to, v.recorded_from, v.recorded_to]) AS versions
}
CALL (start, end, low, said) {
  MATCH (c:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, recorded_to, valid_from)
  WHERE x.said = said AND x.recorded_to = 4611686018427387904 AND x.valid_from >= low AND x.valid_from < end
    AND x.valid_to > start
  RETURN collect([x.valid_from, x.valid_to, c.position, c.ordinal, c.observed_at, c.asserts, c.value_key,
    c.functional, c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi]) AS extents
}
RETURN start, end, versions, extents

// name: entries
MATCH (c:Claim) USING INDEX SEEK c:Claim(slot, position)
WHERE c.slot = $slot AND c.position > 0 AND c.ended_position = 4611686018427387904
  AND c.folded_position < 4611686018427387904
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi
ORDER BY c.observed_at, c.position, c.ordinal

// name: support_now
UNWIND $said AS said
CALL (said) {
  MATCH (u:Support) WHERE u.said = said AND u.recorded_from >= -4611686018427387904
  RETURN u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
}
RETURN said, u.recorded_from, u.sources, u.occurrences, u.doubt

// name: voice_of_root
CALL () {
  MATCH (c:Claim) WHERE c.voice = $voice AND c.asserts AND c.ended_position = 4611686018427387904
    AND c.folded_position < 4611686018427387904
  RETURN max(c.confidence) AS heard
}
CALL () {
  MATCH (c:Claim) WHERE c.cited = $cited AND c.asserts AND c.ended_position = 4611686018427387904
    AND c.folded_position < 4611686018427387904 AND NOT c.echo
  WITH c LIMIT 1
  RETURN count(c) > 0 AS cited
}
RETURN heard, cited

// name: claims_of_episode_for
MATCH (c:Claim) WHERE c.cited = $cited AND c.asserts AND c.ended_position = 4611686018427387904
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: heard
MATCH (c:Claim) USING INDEX SEEK c:Claim(slot, position)
WHERE c.slot = $slot AND c.position > 0 AND c.value_key = $value AND c.asserts
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: episode
UNWIND $episodes AS episode
MATCH (e:Episode {tenant: $tenant, episode: episode})
RETURN e.episode, e.source, e.observed_at, e.root

// name: payloads_about
MATCH (p:Payload) WHERE p.subject = $subject AND p.body IS NOT NULL
RETURN p.position, p.digest, p.restated, p.salt, p.body ORDER BY p.position

// name: take_migrations
MERGE (l:Migrations {name: 'migrations'}) SET l.locked = true RETURN coalesce(l.version, 0)

// name: migration
MATCH (l:Migrations) RETURN coalesce(max(l.version), 0)

// name: put_migration
MATCH (l:Migrations {name: 'migrations'}) SET l.version = $version

// name: put_tenant
MERGE (c:Clock {tenant: $tenant})
ON CREATE SET c.position = 0, c.recorded_at = -4611686018427387904, c.digest = $digest, c.erasures = 0,
  c.schema_version = 0, c.previous_position = 0, c.previous_recorded_at = -4611686018427387904,
  c.previous_digest = $digest, c.previous_erasures = 0, c.previous_schema_version = 0, c.written_at = 0
RETURN c.position

// name: put_schema
CREATE (s:Schema) SET s = $row

// name: slots_to_erase
CALL () {
  UNWIND $pairs AS pair MATCH (s:Slot) WHERE s.pair = pair RETURN s
  UNION
  UNWIND $subjects AS subject MATCH (s:Slot) WHERE s.subject = subject RETURN s
}
RETURN s.slot

// name: erase_transitions
UNWIND $slots AS slot
MATCH (c:Claim)<-[:CHANGED]-(t:Transition) USING INDEX SEEK c:Claim(slot, position)
WHERE c.slot = slot AND c.position > 0 AND ($value IS NULL OR c.value_key = $value)
DETACH DELETE t

// name: erase_claims
UNWIND $slots AS slot
MATCH (c:Claim) USING INDEX SEEK c:Claim(slot, position)
WHERE c.slot = slot AND c.position > 0 AND ($value IS NULL OR c.value_key = $value)
DETACH DELETE c

// name: erase_versions
UNWIND $slots AS slot
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, recorded_from, valid_from)
WHERE f.slot = slot AND f.recorded_from >= -4611686018427387904 AND f.valid_from >= -4611686018427387904
  AND ($value IS NULL OR f.value_key = $value)
DELETE f

// name: erase_values
UNWIND $slots AS slot
MATCH (v:Value) WHERE v.slot = slot AND ($value IS NULL OR v.value_key = $value)
DETACH DELETE v

// name: erase_extents
// Retractions and claims take theirs with them; this finds what is left.
UNWIND $slots AS slot
MATCH ()-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(slot, recorded_to, valid_from)
WHERE x.slot = slot AND x.recorded_to > -4611686018427387904 AND x.valid_from >= -4611686018427387904
  AND ($value IS NULL OR x.value_key = $value)
DELETE x

// name: erase_support
UNWIND $slots AS slot
MATCH (u:Support) WHERE u.slot = slot AND ($value IS NULL OR u.value_key = $value)
DELETE u

// name: erase_slot
UNWIND $slots AS slot
MATCH (s:Slot {slot: slot})
DELETE s

// name: apply
// A commit: the Clock, the activity with its agent, what was told, what became of belief. It may run several times for
// one commit, with more rows each time; each part gives how many rows it wrote. Rows are lists: of the field of a map
// the planner must fear that it is the property of a node, and would put an Eager among the rows. All rows come in one
// list: a plan is for parameters of some size (0, 1, up to 10, up to 100 …), and of fifteen lists each mixture of sizes
// would have to be planned, for a second or more each.
MATCH (k:Clock {tenant: $tenant})
SET k.ledger = $ledger, k.position = $position, k.recorded_at = $recorded_at, k.digest = $digest,
  k.erasures = $erasures, k.schema_version = $schema_version, k.previous_position = $previous_position,
  k.previous_recorded_at = $previous_recorded_at, k.previous_digest = $previous_digest,
  k.previous_erasures = $previous_erasures, k.previous_schema_version = $previous_schema_version,
  k.written_at = timestamp(), k.expires = coalesce(k.expires, false) OR $expires
MERGE (g:Agent {tenant: $tenant, agent: $principal})
MERGE (a:Activity {tenant: $tenant, position: $position})
ON CREATE SET a.recorded_at = $recorded_at, a.kind = $kind, a.principal = $principal, a.restated = $restated,
  a.previous = $previous, a.digest = $digest
MERGE (a)-[:WAS_ASSOCIATED_WITH]->(g)
WITH a, k.expires AS expires
CALL () {
  UNWIND $parts[0] AS p
  MERGE (s:Scope {scope: p[0]})
  ON CREATE SET s.tenant = p[1], s.namespace = p[2], s.purpose = p[3]
  RETURN count(s) AS scopes
}
CALL () {
  UNWIND $parts[1] AS p
  MERGE (e:Entity {place: p[0]})
  SET e.tenant = p[1], e.namespace = p[2], e.key = p[3], e.position = p[4], e.ordinal = p[5]
  RETURN count(e) AS entities
}
CALL () {
  UNWIND $parts[2] AS place
  MERGE (e:Entity {place: place})
  RETURN count(e) AS ends
}
CALL (a) {
  UNWIND $parts[3] AS p
  CREATE (a)-[:USED]->(e:Episode {
    tenant: p[0], episode: p[1], source: p[2], root: p[3], observed_at: p[4], made_at: p[5]})
  RETURN count(e) AS episodes
}
CALL () {
  UNWIND $parts[4] AS p
  MERGE (s:Slot {slot: p[0]})
  ON CREATE SET s.scope = p[1], s.subject = p[2], s.pair = p[3], s.entity = p[4], s.subject_position = p[5],
    s.subject_ordinal = p[6], s.predicate = p[7], s.language = p[8], s.made_at = p[9]
  SET s.version = p[10], s.last_observed = p[11], s.last_position = p[12], s.last_ordinal = p[13],
    s.functional = p[14], s.plain = p[15], s.trust = p[16], s.rejected = p[17]
  RETURN count(s) AS slots
}
CALL (a) {
  UNWIND $parts[5] AS p
  CREATE (a)<-[:WAS_GENERATED_BY]-(c:Claim {
    place: p[0], tenant: p[1], namespace: p[2], purpose: p[3], scope: p[4], slot: p[5], voice: p[6], cited: p[7],
    position: p[8], ordinal: p[9], observed_at: p[10], asserts: p[11], functional: p[12], subject_position: p[13],
    subject_ordinal: p[14], predicate: p[15], language: p[16], value_key: p[17], value_type: p[18],
    value_text: p[19], value_qualifier: p[20], start_kind: p[21], start_lo: p[22], start_hi: p[23],
    end_kind: p[24], end_lo: p[25], end_hi: p[26], stated_from: p[27], stated_to: p[28], zone: p[29],
    semantics: p[30], observed_stated: p[31], source: p[32], episode: p[33], root: p[34], confidence: p[35],
    schema_version: p[36], principal: p[37], recorded_at: p[38], ended_position: p[39],
    trust: p[40], echo: p[41], folded_position: p[42], held_in: p[43], held_state: p[44], held_by: p[45],
    expires_at: p[46], expiring: p[47], due_in: p[48]})
  RETURN count(c) AS claims
}
CALL () {
  UNWIND $parts[6] AS p
  CREATE (y:Payload {
    tenant: p[0], position: p[1], number: p[2], subject: p[3], subject_position: p[4], subject_ordinal: p[5],
    digest: p[6], restated: p[7], salt: p[8], body: p[9]})
  RETURN count(y) AS payloads
}
CALL () {
  UNWIND $parts[7] AS p
  MATCH (c:Claim {place: p[0]}) MATCH (e:Episode {tenant: $tenant, episode: p[1]})
  CREATE (c)-[:WAS_DERIVED_FROM]->(e)
  RETURN count(c) AS cited
}
CALL (a) {
  UNWIND $parts[8] AS p
  MATCH (c:Claim {place: p[0]})
  CREATE (a)<-[:WAS_GENERATED_BY]-(t:Transition {
    tenant: $tenant, claim_position: p[1], claim_ordinal: p[2], position: p[3], recorded_at: p[4], state: p[5],
    rule: p[6], reason: p[7], actor: p[8], decided_on: p[9], successor_position: p[10], successor_ordinal: p[11]
  })-[:CHANGED]->(c)
  SET c.folded_position = coalesce(p[12], c.folded_position), c.ended_position = coalesce(p[13], c.ended_position),
    c.due_in = CASE WHEN p[14] THEN null ELSE c.due_in END
  RETURN count(t) AS transitions
}
CALL () {
  UNWIND $parts[9] AS place
  MATCH ()-[f:FACT]->() WHERE f.place = place
  SET f.recorded_to = $recorded_at
  RETURN count(f) AS closed
}
CALL () {
  UNWIND $parts[10] AS p
  MATCH (c:Claim {place: p[0]})-[x:SUPPORTS]->()
  WHERE x.said = p[1] AND x.valid_from = p[2] AND x.valid_to = p[3] AND x.recorded_to = 4611686018427387904
  WITH collect(x) AS found
  UNWIND found AS x
  SET x.recorded_to = $recorded_at
  RETURN count(x) AS hidden
}
CALL () {
  UNWIND $parts[11] AS p
  MATCH (s:Entity {place: p[0]}) MATCH (o:Entity {place: p[1]})
  MERGE (t:Statement:Text {said: p[2][6]})
  ON CREATE SET t.scope = p[2][4], t.unwritten = p[2][4]
  CREATE (s)-[f:FACT {
    place: p[2][0], tenant: p[2][1], namespace: p[2][2], purpose: p[2][3], scope: p[2][4], slot: p[2][5],
    said: p[2][6], held: p[2][7], position: p[2][8], ordinal: p[2][9], subject_position: p[2][10],
    subject_ordinal: p[2][11], predicate: p[2][12], language: p[2][13], value_key: p[2][14], value_type: p[2][15],
    value_text: p[2][16], value_qualifier: p[2][17], certain: p[2][18], valid_from: p[2][19], valid_to: p[2][20],
    recorded_from: p[2][21], recorded_to: p[2][22], vector_a: t.vector_a, vector_b: t.vector_b}]->(o)
  RETURN count(f) AS facts
}
CALL () {
  UNWIND $parts[12] AS p
  MATCH (s:Entity {place: p[0]})
  MERGE (o:Value {said: p[1][0]})
  ON CREATE SET o.slot = p[1][1], o.value_key = p[1][2], o.type = p[1][3], o.text = p[1][4]
  MERGE (t:Statement:Text {said: p[2][6]})
  ON CREATE SET t.scope = p[2][4], t.unwritten = p[2][4]
  CREATE (s)-[f:FACT {
    place: p[2][0], tenant: p[2][1], namespace: p[2][2], purpose: p[2][3], scope: p[2][4], slot: p[2][5],
    said: p[2][6], held: p[2][7], position: p[2][8], ordinal: p[2][9], subject_position: p[2][10],
    subject_ordinal: p[2][11], predicate: p[2][12], language: p[2][13], value_key: p[2][14], value_type: p[2][15],
    value_text: p[2][16], value_qualifier: p[2][17], certain: p[2][18], valid_from: p[2][19], valid_to: p[2][20],
    recorded_from: p[2][21], recorded_to: p[2][22], vector_a: t.vector_a, vector_b: t.vector_b}]->(o)
  RETURN count(f) AS literals
}
CALL () {
  UNWIND $parts[13] AS p
  MATCH (c:Claim {place: p[0]}) MATCH (s:Entity {place: p[1]})
  CREATE (c)-[x:SUPPORTS {slot: p[2], said: p[3], value_key: p[4], valid_from: p[5], valid_to: p[6],
    recorded_from: $recorded_at, recorded_to: 4611686018427387904}]->(s)
  RETURN count(x) AS shown
}
CALL () {
  UNWIND $parts[14] AS p
  CREATE (u:Support {
    tenant: p[0], namespace: p[1], purpose: p[2], scope: p[3], slot: p[4], said: p[5], subject_position: p[6],
    subject_ordinal: p[7], predicate: p[8], language: p[9], value_key: p[10], recorded_from: p[11], sources: p[12],
    occurrences: p[13], doubt: p[14]})
  RETURN count(u) AS support
}
RETURN scopes, entities, ends, episodes, slots, claims, payloads,
  cited, transitions, closed, hidden, facts, literals, shown, support, expires

// name: may_expire
// Where a claim that expires is folded, what is believed of its value may expire.
UNWIND $said AS said
CALL (said) {
  MATCH (c:Claim) WHERE c.expiring = said
  RETURN min(c.expires_at) AS may_expire_at
}
WITH said, may_expire_at WHERE may_expire_at IS NOT NULL
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(said, recorded_to, valid_from)
WHERE f.said = said AND f.recorded_to = 4611686018427387904 AND f.valid_from >= -4611686018427387904
SET f.may_expire_at = may_expire_at
RETURN count(f)

// name: put_successor
UNWIND $rows AS p
MATCH (c:Claim {place: p[0]}) MATCH (n:Claim {place: p[1]})
CREATE (n)-[:WAS_DERIVED_FROM]->(c)
RETURN count(n)

// name: restate_payload
UNWIND $rows AS p
MATCH (y:Payload)
WHERE y.tenant = $tenant AND y.position = p[0] AND y.number >= 0 AND coalesce(y.subject, '') = p[1]
SET y.restated = p[2], y.salt = p[3], y.body = p[4]
RETURN count(y)

// name: put_answer
MERGE (a:Answer {key: $row.key}) SET a = $row

// name: forget_answers
MATCH (a:Answer) WHERE a.tenant = $tenant AND a.until < $before
DELETE a
RETURN count(a)

// name: committed
MATCH (a:Activity {tenant: $tenant, position: $position}) RETURN a.digest

// name: ledger_schemas
MATCH (s:Schema) WHERE s.tenant = $tenant AND s.position <= $position RETURN s.document ORDER BY s.version, s.position

// name: ledger_entities
MATCH (e:Entity) WHERE e.tenant = $tenant AND e.position <= $position AND e.namespace IS NOT NULL
RETURN e.namespace, e.position, e.ordinal, e.key ORDER BY e.position, e.ordinal

// name: ledger_episodes
MATCH (e:Episode) WHERE e.tenant = $tenant AND e.episode >= '' AND e.made_at <= $position
RETURN e.episode, e.source, e.observed_at, e.root ORDER BY e.tenant, e.episode

// name: ledger_claims
MATCH (c:Claim) USING INDEX SEEK c:Claim(tenant, position)
WHERE c.tenant = $tenant AND c.position <= $position
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  c.namespace, c.purpose
ORDER BY c.tenant, c.position, c.ordinal

// name: ledger_transitions
MATCH (t:Transition) USING INDEX SEEK t:Transition(tenant, claim_position)
WHERE t.tenant = $tenant AND t.claim_position > 0 AND t.position <= $position
RETURN t.claim_position, t.claim_ordinal, t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
  t.successor_position, t.successor_ordinal
ORDER BY t.tenant, t.claim_position, t.claim_ordinal, t.position

// name: ledger_versions
MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(tenant, position)
WHERE f.tenant = $tenant AND f.position <= $position
RETURN f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  f.subject_position, f.subject_ordinal, f.predicate, f.language, f.namespace, f.purpose
ORDER BY f.tenant, f.position, f.ordinal

// name: ledger_support
MATCH (u:Support) USING INDEX SEEK u:Support(tenant, recorded_from)
WHERE u.tenant = $tenant AND u.recorded_from <= $recorded_at
RETURN u.value_key, u.recorded_from, u.sources, u.occurrences, u.doubt,
  u.subject_position, u.subject_ordinal, u.predicate, u.language, u.namespace, u.purpose
ORDER BY u.tenant, u.recorded_from, u.namespace, u.purpose, u.subject_position, u.subject_ordinal, u.predicate,
  u.language, u.value_key

// name: server
CALL dbms.components() YIELD name, versions, edition WHERE name = 'Neo4j Kernel' RETURN versions[0], edition

// name: indexes
SHOW INDEXES YIELD name, state WHERE state <> 'ONLINE' RETURN name, state

// name: settings
SHOW SETTINGS 'db.lock.acquisition.timeout', 'server.bolt.connection_keep_alive',
  'server.bolt.connection_keep_alive_probes', 'server.directories.data'
YIELD name, value RETURN name, value

// name: current_user
SHOW CURRENT USER YIELD user

// name: constraint_names
SHOW CONSTRAINTS YIELD name RETURN name

// name: index_names
SHOW INDEXES YIELD name RETURN name

// name: vector_indexes
SHOW VECTOR INDEXES YIELD name, properties, state RETURN name, properties, state

// name: drop_index
DROP INDEX $name IF EXISTS

// name: await_indexes
CALL db.awaitIndexes(300)

// name: server_clock
RETURN timestamp()

// name: key
MATCH (k:ApiKey {digest: $digest})
RETURN k.prefix, k.digest, k.tenant, k.principal, k.kind, k.permits, k.may_import, k.created_at, k.created_by,
  k.expires_at, k.revoked_at, k.revoked_by

// name: has_keys
RETURN EXISTS { MATCH (k:ApiKey) WHERE k.prefix >= '' }

// name: keys
MATCH (k:ApiKey) USING INDEX SEEK k:ApiKey(tenant, prefix)
WHERE k.tenant = $tenant AND k.prefix > $after
RETURN k.prefix, k.digest, k.tenant, k.principal, k.kind, k.permits, k.may_import, k.created_at, k.created_by,
  k.expires_at, k.revoked_at, k.revoked_by
ORDER BY k.tenant, k.prefix LIMIT $limit

// name: put_key
// False where the prefix was there already; then the transaction is rolled back.
MERGE (k:ApiKey {prefix: $row.prefix})
ON CREATE SET k = $row
RETURN k.digest = $row.digest AND k.created_at = $row.created_at

// name: revoke_key
MATCH (k:ApiKey {prefix: $prefix}) WHERE k.tenant = $tenant
SET k.revoked_by = CASE WHEN k.revoked_at IS NULL THEN $by ELSE k.revoked_by END,
  k.revoked_at = coalesce(k.revoked_at, $at)
RETURN k.prefix, k.digest, k.tenant, k.principal, k.kind, k.permits, k.may_import, k.created_at, k.created_by,
  k.expires_at, k.revoked_at, k.revoked_by

// name: owner
MATCH (o:Owner {tenant: $tenant, namespace: $namespace}) RETURN o.namespace, o.owner, o.since, o.decided_by

// name: owners
MATCH (o:Owner) WHERE o.tenant = $tenant AND o.namespace > $after
RETURN o.namespace, o.owner, o.since, o.decided_by ORDER BY o.tenant, o.namespace LIMIT $limit

// name: put_owner
MERGE (o:Owner {tenant: $tenant, namespace: $namespace})
SET o.owner = $owner, o.since = $since, o.decided_by = $by
