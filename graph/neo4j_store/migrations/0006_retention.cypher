// A claim may expire. A fact in which some claim that expires ever showed says when the first of them does, others say
// nothing: then nobody need look at the claims. `due_in` is the scope of a claim that expires, until that is written.

CREATE INDEX claim_expiring IF NOT EXISTS FOR (n:Claim) ON (n.expiring);
CREATE INDEX claim_due IF NOT EXISTS FOR (n:Claim) ON (n.due_in, n.expires_at);

// `words_of` is the tenant of an episode that has its words, `receipts_since` when an operation was done that has its
// receipts: a sweep finds both by index.

CREATE INDEX kept_words IF NOT EXISTS FOR (n:Kept) ON (n.words_of, n.position);
CREATE INDEX operation_receipts IF NOT EXISTS FOR (n:Operation) ON (n.receipts_since);

MATCH (k:Kept) WHERE k.words_of IS NULL SET k.words_of = k.tenant;
MATCH (q:Operation) WHERE q.receipts IS NOT NULL SET q.receipts_since = q.changed_at;
