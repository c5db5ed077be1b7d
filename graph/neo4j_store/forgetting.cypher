// What forgetting asks and does. Each query has the name that it has in the other store.

// name: tombstones
MATCH (t:Tombstone) WHERE t.tenant = $tenant AND t.position > $after AND t.position <= $position
RETURN t.document, t.actor, t.position, t.recorded_at,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_by END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_position END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_at END
ORDER BY t.tenant, t.position LIMIT $limit

// name: tombstone_of
MATCH (f:Forgotten {id: $id}) MATCH (t:Tombstone {tenant: f.tenant, position: f.tombstone}) WHERE t.position <= $position
RETURN t.document, t.actor, t.position, t.recorded_at,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_by END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_position END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_at END

// name: marked
UNWIND $marks AS mark
CALL (mark) {
  MATCH (m:Mark) WHERE m.mark = mark AND m.tombstone <= $position
  RETURN m ORDER BY m.tombstone DESC LIMIT 1
}
MATCH (t:Tombstone {tenant: m.tenant, position: m.tombstone})
RETURN t.document, t.actor, t.position, t.recorded_at,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_by END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_position END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_at END, mark

// name: secret
MATCH (c:Clock {tenant: $tenant}) RETURN c.secret

// name: ledger_tombstones
MATCH (t:Tombstone) WHERE t.tenant = $tenant AND t.position <= $position
RETURN t.document, t.actor, t.position, t.recorded_at,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_by END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_position END,
  CASE WHEN t.lifted_position <= $position THEN t.lifted_at END
ORDER BY t.tenant, t.position

// name: recorded_after
MATCH (k:Kept) WHERE k.tenant = $tenant AND k.position >= $after[0] AND k.position <= $position AND k.scope = $scope
  AND (0 + k.position > $after[0] OR k.ordinal > $after[1])
WITH k ORDER BY k.tenant, k.position, k.ordinal LIMIT $limit
CALL (k) {
  MATCH (e:Episode {tenant: k.tenant, episode: 'epi_' + $ledger + '_' + k.position + '_' + k.ordinal})
  RETURN e
}
CALL (k) {
  MATCH (a:Activity {tenant: k.tenant, position: k.position})
  RETURN a
}
CALL (k) {
  MATCH (y:Payload) WHERE y.subject = k.tenant + '|' + k.position + '|' + (-1 - k.ordinal)
  RETURN collect([y.digest, y.restated, y.salt, y.body])[0] AS payload
}
RETURN e.episode, e.source, e.observed_at, e.root, a.recorded_at, a.principal, payload
ORDER BY k.position, k.ordinal

// name: all_of_episode
MATCH (c:Claim) USING INDEX SEEK c:Claim(scope, episode)
WHERE c.scope = $scope AND c.episode = $episode
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: all_of_source
MATCH (c:Claim) USING INDEX SEEK c:Claim(scope, source)
WHERE c.scope = $scope AND c.source = $source
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: all_of_entity
// It looks at every claim of the tenant: nothing else asks so.
MATCH (c:Claim) USING INDEX c:Claim(tenant, position)
WHERE c.tenant = $tenant AND c.position > 0 AND c.value_key = $value AND c.scope = $scope
RETURN c.position, c.ordinal, c.observed_at, c.asserts, c.value_key, c.functional,
  c.start_kind, c.start_lo, c.start_hi, c.end_kind, c.end_lo, c.end_hi,
  c.subject_position, c.subject_ordinal, c.predicate, c.language, c.value_type, c.value_text, c.value_qualifier,
  c.stated_from, c.stated_to, c.zone, c.semantics, c.observed_stated, c.source, c.episode, c.root, c.confidence,
  c.schema_version, c.principal, c.recorded_at, c.trust, c.echo, coalesce(c.expires_at, 4611686018427387904),
  [(t:Transition)-[:CHANGED]->(c) | [t.position, t.recorded_at, t.state, t.rule, t.reason, t.actor, t.decided_on,
    t.successor_position, t.successor_ordinal]]
ORDER BY c.position, c.ordinal

// name: kept_answers
MATCH (a:Answer) WHERE a.tenant = $tenant AND a.until > -4611686018427387904 RETURN a.key, a.receipt

// name: blank_answer
UNWIND $keys AS key
MATCH (a:Answer {key: key}) SET a.request = $empty, a.receipt = $empty

// name: end_reading
MATCH (q:Operation {place: $place})
SET q.state = 'failed', q.due = null, q.reason = $reason, q.receipts = null, q.receipts_since = null, q.worker = null,
  q.token = q.token + 1, q.changed_at = $now
RETURN count(q)

// name: forget_readings
UNWIND $places AS place
MATCH (q:Operation {place: place}) SET q.receipts = null, q.receipts_since = null

// name: leave_lane
// The lane of a session is a hash of its name.
MATCH (q:Operation {place: $place}) SET q.lane = $lane

// name: slots_of_entity
MATCH (s:Slot) WHERE s.entity = $place RETURN s.slot

// name: forget_entity
MATCH (e:Entity {place: $place}) DETACH DELETE e

// name: forget_kept
MATCH (k:Kept {place: $place}) DETACH DELETE k

// name: empty_kept
UNWIND $rows AS p
MATCH (k:Kept {place: p[0]}) SET k.said = p[1], k.content = p[2], k.uncut = null

// name: forget_episode
UNWIND $episodes AS episode
MATCH (e:Episode {tenant: $tenant, episode: episode}) DETACH DELETE e

// name: remove_transitions
UNWIND $places AS place
MATCH (c:Claim {place: place})<-[:CHANGED]-(t:Transition) DETACH DELETE t

// name: remove_quotes
UNWIND $places AS place
MATCH (c:Claim {place: place}) REMOVE c.quote, c.quote_turn, c.quote_start, c.quote_end

// name: remove_extents
UNWIND $places AS place
MATCH (c:Claim {place: place})-[x:SUPPORTS]->() DELETE x

// name: remove_claims
UNWIND $places AS place
MATCH (c:Claim {place: place}) DETACH DELETE c

// name: remove_versions
UNWIND $places AS place
MATCH ()-[f:FACT]->() WHERE f.place = place DELETE f

// name: remove_values
MATCH (v:Value) WHERE v.slot = $slot AND NOT EXISTS { ()-[:FACT]->(v) } DETACH DELETE v

// name: remove_support
MATCH (u:Support) WHERE u.slot = $slot
  AND NOT EXISTS { MATCH (c:Claim) WHERE c.slot = $slot AND c.position > 0 AND c.value_key = u.value_key }
DELETE u

// name: remove_slot
MATCH (s:Slot {slot: $slot}) WHERE NOT EXISTS { MATCH (c:Claim) WHERE c.slot = $slot AND c.position > 0 } DELETE s

// name: destroy_payload
UNWIND $rows AS p
MATCH (y:Payload) WHERE y.tenant = $tenant AND y.position = p[0] AND y.number >= 0 AND y.subject = p[1]
SET y.restated = null, y.salt = null, y.body = null

// name: payloads_of_nobody
MATCH (p:Payload)
WHERE p.tenant = $tenant AND p.position > 0 AND p.number >= 0 AND p.subject IS NULL AND p.body IS NOT NULL
RETURN p.position, p.digest, p.restated, p.salt, p.body ORDER BY p.position

// name: put_secret
MATCH (c:Clock {tenant: $tenant}) SET c.secret = coalesce(c.secret, $secret)

// name: put_tombstone
CREATE (t:Tombstone) SET t = $row

// name: put_forgotten
UNWIND $rows AS p
MERGE (f:Forgotten {id: p[0]}) SET f.tenant = $tenant, f.tombstone = p[1]

// name: put_mark
UNWIND $rows AS p
CREATE (m:Mark {mark: p[0], tenant: $tenant, tombstone: p[1]})

// name: lift_tombstone
MATCH (t:Tombstone {tenant: $tenant, position: $stone})
SET t.lifted_by = $actor, t.lifted_position = $at, t.lifted_at = $recorded_at
