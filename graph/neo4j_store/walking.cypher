// What walks ask, by name: see the head of queries.cypher. These read along what never changes, at both times.

// name: around
// For each [number, subject, held, position and ordinal of the entity] the facts about it that are visible, then those
// that have it as their value where there are less than $limit; both latest to hold first, $limit at most, also of each
// slot. In a functional slot nothing lies beside a certain version, so none begins before the last one or its end. What
// an entity says of itself points at it too, and comes once. All is one record: each costs the driver more than a row.
UNWIND $asked AS a
CALL (a) {
  MATCH (s:Slot) WHERE s.subject = a[1]
  CALL (s) {
    WITH CASE WHEN s.functional THEN s.slot END AS key
    MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
    WHERE c.slot = key AND c.valid_from <= $valid_at AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
      AND c.certain
    WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 1
    RETURN collect(CASE WHEN c.valid_to > $valid_at THEN c.valid_from ELSE c.valid_to END)[0] AS low
  }
  WITH s, coalesce(low, -4611686018427387904) AS low
  CALL (s, low) {
    MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
    WHERE f.slot = s.slot AND f.valid_from >= low AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
      AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
      AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
        MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
        WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
          AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
          AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
    RETURN f ORDER BY f.slot DESC, f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
  }
  WITH f ORDER BY f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
  RETURN collect([f.valid_from, f.recorded_from, f.ordinal, f.position,
    CASE f.value_type WHEN 'entity' THEN f.value_text END]) AS about
}
CALL (a, about) {
  WITH a, CASE WHEN size(about) < $limit THEN a[2] END AS key
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(held, valid_from, recorded_from)
  WHERE f.held = key AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at
    AND NOT (f.subject_position = a[3] AND f.subject_ordinal = a[4])
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  WITH f ORDER BY f.held DESC, f.valid_from DESC, f.recorded_from DESC, f.ordinal DESC LIMIT $limit
  RETURN collect([f.valid_from, f.recorded_from, f.ordinal, f.position, f.subject_position, f.subject_ordinal])
    AS pointing
}
RETURN collect([a[0], about, pointing])

// name: facts
// `fact` for many, in one record: for each slot what its facts share, then those. All properties of a fact are read at
// once: to ask for most of them one by one reads it as often. Many facts are in one slot, which is sought once.
UNWIND $places AS place
MATCH ()-[f:FACT]->() WHERE f.place = place AND f.scope = $scope AND f.position <= $position
WITH f.slot AS slot, collect(f) AS each
MATCH (s:Slot {slot: slot})
UNWIND each AS f
WITH s, properties(f) AS f
CALL (f) {
  MATCH (u:Support) WHERE u.said = f.said AND u.recorded_from < f.recorded_to AND u.recorded_from <= $known_at
  WITH u ORDER BY u.said DESC, u.recorded_from DESC LIMIT 1
  RETURN collect([u.recorded_from, u.sources, u.occurrences, u.doubt])[0] AS held
}
WITH s, collect([f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to,
  held, CASE WHEN NOT s.plain OR f.may_expire_at IS NOT NULL THEN f.said END, f.may_expire_at]) AS facts
RETURN collect([[s.subject_position, s.subject_ordinal, s.predicate, s.language, s.plain], facts])

// name: entity_edges
// Of each [number, slot] what is visible and points at an entity.
UNWIND $asked AS a
MATCH (s:Slot {slot: a[1]})
CALL (s) {
  WITH CASE WHEN s.functional THEN s.slot END AS key
  MATCH ()-[c:FACT]->() USING INDEX SEEK c:FACT(slot, valid_from, recorded_from)
  WHERE c.slot = key AND c.valid_from <= $valid_at AND c.recorded_from <= $known_at AND c.recorded_to > $known_at
    AND c.certain
  WITH c ORDER BY c.slot DESC, c.valid_from DESC, c.recorded_from DESC LIMIT 1
  RETURN collect(CASE WHEN c.valid_to > $valid_at THEN c.valid_from ELSE c.valid_to END)[0] AS low
}
WITH a, s, coalesce(low, -4611686018427387904) AS low
CALL (s, low) {
  MATCH ()-[f:FACT]->() USING INDEX SEEK f:FACT(slot, valid_from, recorded_from)
  WHERE f.slot = s.slot AND f.valid_from >= low AND f.valid_from <= $valid_at AND f.valid_to > $valid_at
    AND f.recorded_from <= $known_at AND f.recorded_to > $known_at AND f.value_type = 'entity'
    AND (f.may_expire_at IS NULL OR f.may_expire_at > $served_at OR EXISTS {
      MATCH (y:Claim)-[x:SUPPORTS]->() USING INDEX SEEK x:SUPPORTS(said, valid_from)
      WHERE x.said = f.said AND x.valid_from >= f.valid_from AND x.valid_from < f.valid_to
        AND x.recorded_from <= $known_at AND x.recorded_to > $known_at
        AND (y.expires_at IS NULL OR y.expires_at > $served_at) })
  RETURN f ORDER BY f.slot, f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
}
WITH a, f ORDER BY a[0], f.valid_from, f.recorded_from, f.ordinal LIMIT $limit
RETURN a[0], [f.position, f.ordinal, f.value_type, f.value_text, f.value_qualifier, f.value_key, f.certain,
  f.valid_from, f.valid_to, f.recorded_from, f.recorded_to]
