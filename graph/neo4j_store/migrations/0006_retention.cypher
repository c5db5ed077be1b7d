// A claim may expire. A fact in which some claim that expires ever showed says when the first of them does, others say
// nothing: then nobody need look at the claims. `due_in` is the scope of a claim that expires, until that is written.

CREATE INDEX claim_expiring IF NOT EXISTS FOR (n:Claim) ON (n.expiring);
CREATE INDEX claim_due IF NOT EXISTS FOR (n:Claim) ON (n.due_in, n.expires_at);
