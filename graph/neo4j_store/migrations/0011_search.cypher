// What is found by words and by meaning: an index beside the ledger and no part of it, which can be made anew. A
// statement is a value in a slot, whatever its versions; a chunk is a stretch of the words of an episode. The indexes of
// vectors differ by what a server can do (vectors.py makes them).
//
// The words are folded and joined by blanks already. A synchronous full-text index would triple the cost of a commit.

CREATE CONSTRAINT statement_said IF NOT EXISTS FOR (n:Statement) REQUIRE n.said IS UNIQUE;
CREATE INDEX statement_unwritten IF NOT EXISTS FOR (n:Statement) ON (n.unwritten, n.said);
CREATE INDEX statement_written IF NOT EXISTS FOR (n:Statement) ON (n.written);
CREATE INDEX chunk_kept IF NOT EXISTS FOR (n:Chunk) ON (n.kept);
CREATE INDEX chunk_written IF NOT EXISTS FOR (n:Chunk) ON (n.written);
CREATE INDEX text_of IF NOT EXISTS FOR (n:Text) ON (n.text_of);
CREATE INDEX text_wants_a IF NOT EXISTS FOR (n:Text) ON (n.wants_a, n.text_of);
CREATE INDEX text_wants_b IF NOT EXISTS FOR (n:Text) ON (n.wants_b, n.text_of);
CREATE INDEX kept_uncut IF NOT EXISTS FOR (n:Kept) ON (n.uncut, n.position);
CREATE CONSTRAINT models_tenant IF NOT EXISTS FOR (n:Models) REQUIRE n.tenant IS UNIQUE;
CREATE INDEX fact_since IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.said, r.recorded_from);

CREATE FULLTEXT INDEX statement_words IF NOT EXISTS FOR (n:Statement) ON EACH [n.written, n.about, n.words]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}};
CREATE FULLTEXT INDEX statement_grams IF NOT EXISTS FOR (n:Statement) ON EACH [n.named, n.grams]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}};
CREATE FULLTEXT INDEX chunk_words IF NOT EXISTS FOR (n:Chunk) ON EACH [n.written, n.words]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'whitespace', `fulltext.eventually_consistent`: true}};

MATCH (k:Kept) WHERE k.words_of IS NOT NULL
CALL (k) { SET k.uncut = k.scope } IN TRANSACTIONS OF 1000 ROWS;

MATCH ()-[f:FACT]->()
CALL (f) {
  MERGE (t:Statement:Text {said: f.said})
  ON CREATE SET t.scope = f.scope, t.unwritten = f.scope
} IN TRANSACTIONS OF 1000 ROWS;
