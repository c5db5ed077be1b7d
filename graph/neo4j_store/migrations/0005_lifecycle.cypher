// A claim may be held before it is folded, and has a trust. What became of it are nodes of their own.

CREATE INDEX claim_held IF NOT EXISTS FOR (n:Claim) ON (n.held_in, n.position);
CREATE INDEX transition_claim IF NOT EXISTS FOR (n:Transition) ON (n.tenant, n.claim_position);

MATCH (s:Slot) WHERE s.trust IS NULL SET s.trust = 2, s.rejected = false;

MATCH (c:Claim) WHERE c.ended_state IS NOT NULL
MATCH (a:Activity {tenant: c.tenant, position: c.ended_position})
CREATE (a)<-[:WAS_GENERATED_BY]-(:Transition {
  tenant: c.tenant, claim_position: c.position, claim_ordinal: c.ordinal, position: c.ended_position,
  recorded_at: c.ended_at, state: c.ended_state, reason: c.ended_reason, actor: a.principal,
  rule: CASE WHEN c.successor_position IS NULL THEN 'withdraw' ELSE 'replace' END,
  successor_position: c.successor_position, successor_ordinal: c.successor_ordinal
})-[:CHANGED]->(c)
REMOVE c.ended_at, c.ended_state, c.ended_reason, c.successor_position, c.successor_ordinal;

MATCH (c:Claim) WHERE c.folded_position IS NULL SET c.folded_position = c.position, c.trust = 2, c.echo = false;
