// Sessions and their notes. Each has the name that it has in the other store.

// name: session
MATCH (s:Session {key: $key})
RETURN s.tenant, s.namespace, s.purpose, s.session, s.principal, s.source, s.me, s.me_is_key, s.zone, s.stage,
  s.opened_at, s.changed_at, s.notes, s.operations

// name: sessions
MATCH (s:Session) USING INDEX SEEK s:Session(scope, session)
WHERE s.scope = $scope AND s.session > $after
RETURN s.tenant, s.namespace, s.purpose, s.session, s.principal, s.source, s.me, s.me_is_key, s.zone, s.stage,
  s.opened_at, s.changed_at, s.notes, s.operations
ORDER BY s.scope, s.session LIMIT $limit

// name: sessions_in_stage
MATCH (s:Session) USING INDEX SEEK s:Session(scope, stage, session)
WHERE s.scope = $scope AND s.stage = $stage AND s.session > $after
RETURN s.tenant, s.namespace, s.purpose, s.session, s.principal, s.source, s.me, s.me_is_key, s.zone, s.stage,
  s.opened_at, s.changed_at, s.notes, s.operations
ORDER BY s.scope, s.stage, s.session LIMIT $limit

// name: idle_sessions
MATCH (s:Session) USING INDEX SEEK s:Session(stage, changed_at)
WHERE s.stage = 'open' AND s.changed_at <= $before
RETURN s.tenant, s.namespace, s.purpose, s.session, s.principal, s.source, s.me, s.me_is_key, s.zone, s.stage,
  s.opened_at, s.changed_at, s.notes, s.operations
ORDER BY s.changed_at, s.tenant, s.session LIMIT $limit

// name: open_sessions
MATCH (s:Session) USING INDEX SEEK s:Session(scope, stage, session)
WHERE s.scope = $scope AND s.stage = 'open' AND s.session > ''
RETURN count(s)

// name: put_session
MERGE (s:Session {key: $key})
ON CREATE SET s.tenant = $tenant, s.namespace = $namespace, s.purpose = $purpose, s.scope = $scope,
  s.session = $session, s.principal = $principal, s.zone = $zone, s.opened_at = $opened_at
SET s.source = $source, s.me = $me, s.me_is_key = $me_is_key, s.stage = $stage, s.changed_at = $changed_at, s.notes = $notes, s.operations = $operations
RETURN count(s)

// name: notes
MATCH (n:Note) USING INDEX SEEK n:Note(session, number)
WHERE n.session = $key AND n.number > $after
RETURN n.number, n.speaker, n.note, n.said_at, n.operation ORDER BY n.session, n.number LIMIT $limit

// name: unread_notes
MATCH (n:Note) USING INDEX SEEK n:Note(session, number)
WHERE n.session = $key AND n.number > 0 AND n.operation IS NULL
RETURN n.number, n.speaker, n.note, n.said_at, n.operation ORDER BY n.session, n.number

// name: put_notes
UNWIND $rows AS p
CREATE (n:Note {key: p[0], session: p[1], tenant: p[2], number: p[3], speaker: p[4], note: p[5], said_at: p[6],
  operation: p[7]})
RETURN count(n)

// name: hand_over
MATCH (n:Note) USING INDEX SEEK n:Note(session, number)
WHERE n.session = $key AND n.number > 0 AND n.operation IS NULL
SET n.operation = $operation
RETURN count(n)

// name: has_notes
MATCH (n:Note) USING INDEX SEEK n:Note(session, number)
WHERE n.session = $key AND n.number > 0
RETURN count(n) > 0

// name: session_of_operation
MATCH (n:Note) USING INDEX SEEK n:Note(tenant, operation)
WHERE n.tenant = $tenant AND n.operation = $operation
RETURN DISTINCT n.session

// name: erase_notes
MATCH (n:Note) USING INDEX SEEK n:Note(tenant, operation)
WHERE n.tenant = $tenant AND n.operation = $operation
DETACH DELETE n

// name: sessions_of_namespace
MATCH (s:Session) USING INDEX SEEK s:Session(tenant, namespace, purpose)
WHERE s.tenant = $tenant AND s.namespace = $namespace AND s.purpose >= $purpose
  AND (s.purpose > $purpose OR s.session > $after)
RETURN s.tenant, s.namespace, s.purpose, s.session, s.principal, s.source, s.me, s.me_is_key, s.zone, s.stage,
  s.opened_at, s.changed_at, s.notes, s.operations
ORDER BY s.purpose, s.session LIMIT $limit

// name: erase_some_notes
UNWIND $keys AS key
MATCH (n:Note {key: key})
DETACH DELETE n

// name: settle_session
MATCH (s:Session {key: $key}) WHERE s.stage = 'ending'
CALL (s) {
  MATCH (n:Note) USING INDEX SEEK n:Note(session, number)
  WHERE n.session = s.key AND n.number > 0
  RETURN count(n) AS notes
}
WITH s WHERE notes = 0
SET s.stage = 'ended', s.changed_at = $now
RETURN count(s)
