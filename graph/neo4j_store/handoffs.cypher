// Handoffs and their adoptions. Each has the name that it has in the other store.

// name: handoff
MATCH (h:Handoff {key: $key})
RETURN h.tenant, h.namespace, h.purpose, h.handoff, h.sender, h.receiver, h.content, h.made_at, h.expires_at

// name: handoffs_kept
MATCH (h:Handoff) USING INDEX SEEK h:Handoff(scope, handoff)
WHERE h.scope = $scope AND h.handoff > ''
RETURN count(h)

// name: handoffs_of_namespace
MATCH (h:Handoff) USING INDEX SEEK h:Handoff(tenant, namespace, purpose)
WHERE h.tenant = $tenant AND h.namespace = $namespace AND h.purpose >= $purpose
  AND (h.purpose > $purpose OR h.handoff > $after)
RETURN h.tenant, h.namespace, h.purpose, h.handoff, h.sender, h.receiver, h.content, h.made_at, h.expires_at
ORDER BY h.purpose, h.handoff LIMIT $limit

// name: put_handoff
MERGE (h:Handoff {key: $key})
ON CREATE SET h.tenant = $tenant, h.namespace = $namespace, h.purpose = $purpose, h.scope = $scope,
  h.handoff = $handoff, h.sender = $sender, h.receiver = $receiver, h.made_at = $made_at, h.expires_at = $expires_at
SET h.content = $content
RETURN count(h)

// name: adoptions
MATCH (a:Adoption) USING INDEX SEEK a:Adoption(handoff, adopted_at)
WHERE a.handoff = $key AND a.adopted_at IS NOT NULL
RETURN a.principal, a.adopted_at ORDER BY a.adopted_at, a.principal LIMIT $limit

// name: adoption
MATCH (a:Adoption {key: $adoption})
RETURN a.principal, a.adopted_at

// name: put_adoption
MATCH (h:Handoff {key: $key})
MERGE (a:Adoption {key: $adoption})
ON CREATE SET a.handoff = $key, a.principal = $principal, a.adopted_at = $adopted_at, a.tenant = h.tenant,
  a.expires_at = h.expires_at
RETURN count(a)

// name: expired_handoffs
MATCH (h:Handoff) USING INDEX SEEK h:Handoff(tenant, expires_at)
WHERE h.tenant = $tenant AND h.expires_at <= $now
RETURN count(h)

// name: drop_adoptions
MATCH (a:Adoption) USING INDEX SEEK a:Adoption(tenant, expires_at)
WHERE a.tenant = $tenant AND a.expires_at <= $now
DETACH DELETE a

// name: drop_handoffs
MATCH (h:Handoff) USING INDEX SEEK h:Handoff(tenant, expires_at)
WHERE h.tenant = $tenant AND h.expires_at <= $now
DETACH DELETE h
