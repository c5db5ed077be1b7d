-- Sessions and their notes. Each has the name that it has in the other store.

-- name: session
SELECT tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at, changed_at, notes,
  operations
FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4

-- name: sessions
SELECT tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at, changed_at, notes,
  operations
FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session > ?4 ORDER BY session LIMIT ?5

-- name: sessions_in_stage
SELECT tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at, changed_at, notes,
  operations
FROM sessions INDEXED BY sessions_by_stage
WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND stage = ?6 AND session > ?4 ORDER BY session LIMIT ?5

-- name: idle_sessions
SELECT tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at, changed_at, notes,
  operations
FROM sessions INDEXED BY sessions_idle WHERE stage = 'open' AND changed_at <= ?1
ORDER BY changed_at, tenant, session LIMIT ?2

-- name: open_sessions
SELECT count(*) FROM sessions INDEXED BY sessions_by_stage
WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND stage = 'open'

-- name: put_session
INSERT INTO sessions (tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at,
  changed_at, notes, operations)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
ON CONFLICT (tenant, namespace, purpose, session)
DO UPDATE SET source = ?6, me = ?7, me_is_key = ?8, stage = ?10, changed_at = ?12, notes = ?13, operations = ?14

-- name: notes
SELECT n.number, n.speaker, n.note, n.said_at, n.operation
FROM sessions s JOIN notes n ON n.session_pk = s.pk
WHERE s.tenant = ?1 AND s.namespace = ?2 AND s.purpose = ?3 AND s.session = ?4 AND n.number > ?5
ORDER BY n.number LIMIT ?6

-- name: unread_notes
SELECT n.number, n.speaker, n.note, n.said_at, n.operation
FROM sessions s JOIN notes n ON n.session_pk = s.pk
WHERE s.tenant = ?1 AND s.namespace = ?2 AND s.purpose = ?3 AND s.session = ?4 AND n.operation IS NULL
ORDER BY n.number

-- name: put_notes
INSERT INTO notes (session_pk, number, speaker, note, said_at, operation)
SELECT pk, ?5, ?6, ?7, ?8, ?9 FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4

-- name: hand_over
UPDATE notes SET operation = ?5
WHERE operation IS NULL AND session_pk = (
  SELECT pk FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4)

-- name: has_notes
SELECT EXISTS (SELECT 1 FROM notes WHERE session_pk = s.pk)
FROM sessions s WHERE s.tenant = ?1 AND s.namespace = ?2 AND s.purpose = ?3 AND s.session = ?4

-- name: session_of_operation
SELECT DISTINCT s.tenant, s.namespace, s.purpose, s.session
FROM notes n INDEXED BY notes_handed_over JOIN sessions s ON s.pk = n.session_pk
WHERE n.operation = ?2 AND s.tenant = ?1

-- name: erase_notes
DELETE FROM notes WHERE operation = ?5 AND session_pk = (
  SELECT pk FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4)

-- name: sessions_of_namespace
SELECT tenant, namespace, purpose, session, principal, source, me, me_is_key, zone, stage, opened_at, changed_at, notes,
  operations
FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND (purpose, session) > (?3, ?4) ORDER BY purpose, session LIMIT ?5

-- name: erase_some_notes
DELETE FROM notes WHERE number = ?5 AND session_pk = (
  SELECT pk FROM sessions WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4)

-- name: settle_session
UPDATE sessions SET stage = 'ended', changed_at = ?5
WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND session = ?4 AND stage = 'ending'
  AND NOT EXISTS (SELECT 1 FROM notes WHERE session_pk = sessions.pk)
