-- Handoffs and their adoptions. Each has the name that it has in the other store.

-- name: handoff
SELECT tenant, namespace, purpose, handoff, sender, receiver, content, made_at, expires_at
FROM handoffs WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND handoff = ?4

-- name: handoffs_kept
SELECT count(*) FROM handoffs WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3

-- name: handoffs_of_namespace
SELECT tenant, namespace, purpose, handoff, sender, receiver, content, made_at, expires_at
FROM handoffs WHERE tenant = ?1 AND namespace = ?2 AND (purpose, handoff) > (?3, ?4) ORDER BY purpose, handoff LIMIT ?5

-- name: put_handoff
INSERT INTO handoffs (tenant, namespace, purpose, handoff, sender, receiver, content, made_at, expires_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
ON CONFLICT (tenant, namespace, purpose, handoff) DO UPDATE SET content = ?7

-- name: adoptions
SELECT a.principal, a.adopted_at
FROM handoffs h JOIN adoptions a ON a.handoff_pk = h.pk
WHERE h.tenant = ?1 AND h.namespace = ?2 AND h.purpose = ?3 AND h.handoff = ?4
ORDER BY a.adopted_at, a.principal LIMIT ?5

-- name: adoption
SELECT a.principal, a.adopted_at
FROM handoffs h JOIN adoptions a ON a.handoff_pk = h.pk
WHERE h.tenant = ?1 AND h.namespace = ?2 AND h.purpose = ?3 AND h.handoff = ?4 AND a.principal = ?5

-- name: put_adoption
INSERT INTO adoptions (handoff_pk, principal, adopted_at)
SELECT pk, ?5, ?6 FROM handoffs WHERE tenant = ?1 AND namespace = ?2 AND purpose = ?3 AND handoff = ?4
ON CONFLICT (handoff_pk, principal) DO NOTHING

-- name: expired_handoffs
SELECT count(*) FROM handoffs INDEXED BY handoffs_by_end WHERE tenant = ?1 AND expires_at <= ?2

-- name: drop_adoptions
DELETE FROM adoptions WHERE handoff_pk IN (
  SELECT pk FROM handoffs INDEXED BY handoffs_by_end WHERE tenant = ?1 AND expires_at <= ?2)

-- name: drop_handoffs
DELETE FROM handoffs INDEXED BY handoffs_by_end WHERE tenant = ?1 AND expires_at <= ?2
