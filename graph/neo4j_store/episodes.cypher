// Recorded episodes and the queue of those that are to be read. Each has the name that it has in the other store.

// name: recorded_episode
MATCH (k:Kept {place: $place}) WHERE k.scope = $scope AND k.position <= $position
CALL (k) {
  MATCH (e:Episode {tenant: k.tenant, episode: $episode})
  RETURN e
}
CALL (k) {
  MATCH (a:Activity {tenant: k.tenant, position: k.position})
  RETURN a
}
CALL (k) {
  MATCH (y:Payload) WHERE y.subject = $owner AND y.position = k.position
  RETURN collect([y.digest, y.restated, y.salt, y.body])[0] AS payload
}
RETURN e.episode, e.source, e.observed_at, e.root, a.recorded_at, a.principal, payload

// name: recorded_as
UNWIND $said AS said
MATCH (k:Kept {said: said}) WHERE k.position <= $position
RETURN k.content, k.position, k.ordinal

// name: words_recorded
// With the recorded time of each, which grows with the position: whoever asks stops where they are too new.
MATCH (k:Kept) WHERE k.words_of = $tenant AND k.position >= $after[0]
  AND (0 + k.position > $after[0] OR k.ordinal > $after[1])
WITH k ORDER BY k.words_of, k.position, k.ordinal LIMIT $limit
MATCH (a:Activity {tenant: k.tenant, position: k.position})
RETURN k.position, k.ordinal, a.recorded_at ORDER BY k.position, k.ordinal

// name: put_kept
UNWIND $rows AS p
CREATE (k:Kept {place: p[0], tenant: p[1], namespace: p[2], purpose: p[3], scope: p[4], said: p[5], content: p[6],
  position: p[7], ordinal: p[8], words_of: p[9], uncut: p[10]})
RETURN count(k)

// name: destroy_words
UNWIND $places AS place
MATCH (k:Kept {place: place})
SET k.words_of = null, k.uncut = null
RETURN count(k)

// name: ledger_kept
MATCH (k:Kept) WHERE k.tenant = $tenant AND k.position <= $position
RETURN k.position, k.ordinal, k.content, k.namespace, k.purpose ORDER BY k.tenant, k.position, k.ordinal

// name: quotes
UNWIND $places AS place
MATCH (c:Claim {place: place}) WHERE c.scope = $scope AND c.position <= $position AND c.quote IS NOT NULL
RETURN c.position, c.ordinal, c.quote_turn, c.quote_start, c.quote_end, c.quote

// name: put_quotes
UNWIND $rows AS p
MATCH (c:Claim {place: p[0]})
SET c.quote_turn = p[1], c.quote_start = p[2], c.quote_end = p[3], c.quote = p[4]
RETURN count(c)

// name: ledger_quotes
MATCH (c:Claim) USING INDEX c:Claim(tenant, position)
WHERE c.tenant = $tenant AND c.position <= $position AND c.quote IS NOT NULL
RETURN c.position, c.ordinal, c.quote_turn, c.quote_start, c.quote_end, c.quote
ORDER BY c.tenant, c.position, c.ordinal

// name: ledger_records
MATCH (k:Kept) WHERE k.tenant = $tenant AND k.position <= $position
CALL (k) {
  MATCH (y:Payload) USING INDEX y:Payload(subject)
  WHERE y.subject = k.tenant + '|' + toString(k.position) + '|' + toString(-1 - k.ordinal) AND y.body IS NOT NULL
    AND y.position > k.position AND y.position <= $position
  RETURN y
}
RETURN k.position, k.ordinal, y.position, y.digest, y.restated, y.salt, y.body
ORDER BY k.tenant, k.position, k.ordinal, y.position

// name: open_lanes
UNWIND $lanes AS lane
MATCH (q:Operation) WHERE q.lane = lane AND q.state IN ['queued', 'running']
RETURN DISTINCT q.lane

// name: enqueue
UNWIND $rows AS p
CREATE (q:Operation {place: p[0], tenant: p[1], ledger: p[2], namespace: p[3], purpose: p[4], scope: p[5],
  position: p[6], ordinal: p[7], lane: p[8], principal: p[9], state: 'queued', due: p[10], next_at: p[11],
  attempts: 0, token: 0, queued_at: p[11], changed_at: p[11]})
RETURN count(q)

// name: due_operations
MATCH (q:Operation) WHERE q.due <= $now
RETURN q.tenant, q.place ORDER BY q.due, q.tenant, q.position, q.ordinal LIMIT $limit

// name: lease_operation
MATCH (q:Operation {place: $place}) WHERE q.due <= $now
SET q.state = 'running', q.due = $until, q.attempts = q.attempts + 1, q.token = q.token + 1, q.worker = $worker,
  q.changed_at = $now
RETURN q.tenant, q.ledger, q.namespace, q.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token

// name: renew_operation
MATCH (q:Operation {place: $place}) WHERE q.state = 'running' AND q.token = $token
SET q.due = $until
RETURN count(q)

// name: end_operation
MATCH (q:Operation {place: $place}) WHERE q.state = 'running' AND q.token = $token
SET q.state = $state, q.due = null, q.reason = $reason, q.receipts = $receipts, q.changed_at = $now,
  q.receipts_since = CASE WHEN $receipts IS NOT NULL THEN $now END
RETURN count(q)

// name: postpone_operation
MATCH (q:Operation {place: $place}) WHERE q.state = 'running' AND q.token = $token
SET q.state = 'queued', q.due = $next_at, q.next_at = $next_at, q.reason = coalesce($reason, q.reason),
  q.attempts = q.attempts - CASE WHEN $reason IS NULL THEN 1 ELSE 0 END, q.changed_at = $now
RETURN count(q)

// name: next_of_lane
MATCH (o:Operation {place: $place})
CALL (o) {
  MATCH (q:Operation) WHERE q.lane = o.lane AND q.state IN ['queued', 'running']
  RETURN q ORDER BY q.position, q.ordinal LIMIT 1
}
WITH q WHERE q.due IS NULL
SET q.due = q.next_at
RETURN count(q)

// name: retry_operation
MATCH (q:Operation {place: $place}) WHERE q.state = 'failed'
SET q.state = 'queued', q.due = null, q.next_at = $now, q.attempts = 0, q.changed_at = $now
RETURN count(q)

// name: hold_lane
MATCH (o:Operation {place: $place})
CALL (o) {
  MATCH (q:Operation) WHERE q.lane = o.lane AND q.state = 'queued'
  RETURN q
}
SET q.due = null
RETURN count(q)

// name: lane_is_running
MATCH (o:Operation {place: $place})
CALL (o) {
  MATCH (q:Operation) WHERE q.lane = o.lane AND q.state = 'running'
  RETURN q LIMIT 1
}
RETURN 1

// name: operation
MATCH (q:Operation {place: $place}) WHERE q.scope = $scope
RETURN q.tenant, q.ledger, q.namespace, q.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token

// name: operations
MATCH (q:Operation) WHERE q.scope = $scope AND q.state = $state AND q.position >= $after[0]
  AND (0 + q.position > $after[0] OR q.ordinal > $after[1])
RETURN q.tenant, q.ledger, q.namespace, q.purpose, q.position, q.ordinal, q.principal, q.state, q.attempts, q.next_at,
  q.reason, q.receipts, q.queued_at, q.changed_at, q.token
ORDER BY q.position, q.ordinal LIMIT $limit

// name: count_waiting
CALL () {
  MATCH (q:Operation) WHERE q.scope = $scope AND q.state IN ['queued', 'running'] AND q.position > 0
  RETURN q LIMIT $ceiling
}
RETURN count(q) AS waiting

// name: old_receipts
MATCH (q:Operation) WHERE q.receipts_since < $before
RETURN q.tenant, q.place ORDER BY q.receipts_since LIMIT $limit

// name: forget_receipts
UNWIND $places AS place
MATCH (q:Operation {place: place}) WHERE q.state = 'done' AND q.changed_at < $before
SET q.receipts = null, q.receipts_since = null
RETURN count(q)

// name: unread
MATCH (q:Operation)
WHERE q.state IN ['queued', 'running', 'failed'] AND q.changed_at > -4611686018427387904 AND q.tenant = $tenant
  AND (q.position > $after[0] OR q.position = $after[0] AND q.ordinal > $after[1])
RETURN q.ledger, q.position, q.ordinal ORDER BY q.position, q.ordinal LIMIT $limit

// name: backlog
CALL () {
  MATCH (q:Operation) WHERE q.state = 'queued' AND q.changed_at > -4611686018427387904
  WITH count(q) AS queued, count(q.reason) AS retried,
    max(CASE WHEN q.reason IS NOT NULL THEN [q.changed_at, q.reason] END) AS newest
  RETURN queued, retried, newest
}
CALL () {
  MATCH (q:Operation) WHERE q.state = 'running' AND q.changed_at > -4611686018427387904
  RETURN count(q) AS running
}
CALL () {
  MATCH (q:Operation) WHERE q.state = 'failed' AND q.changed_at > -4611686018427387904
  RETURN count(q) AS failed
}
CALL () {
  MATCH (q:Operation) WHERE q.due <= $now
  RETURN min(q.due) AS overdue_since
}
CALL () {
  MATCH (q:Operation) WHERE q.state = 'done' AND q.changed_at > -4611686018427387904
  RETURN max(q.changed_at) AS done_at
}
RETURN queued, running, failed, overdue_since, retried, newest[0], newest[1], done_at
