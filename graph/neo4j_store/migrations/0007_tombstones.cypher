// What is left of what was forgotten: no word of it. A tombstone has the position of its commit; the ids of what is gone
// and its marks are nodes of their own, to be found by.

CREATE INDEX kept_scope IF NOT EXISTS FOR (n:Kept) ON (n.scope, n.position);
CREATE CONSTRAINT tombstone_position IF NOT EXISTS FOR (n:Tombstone) REQUIRE (n.tenant, n.position) IS UNIQUE;
CREATE CONSTRAINT forgotten_id IF NOT EXISTS FOR (n:Forgotten) REQUIRE n.id IS UNIQUE;
CREATE INDEX mark_mark IF NOT EXISTS FOR (n:Mark) ON (n.mark);

MATCH (k:Kept) WITH DISTINCT k.scope AS scope, k.tenant AS tenant, k.namespace AS namespace, k.purpose AS purpose
MERGE (s:Scope {scope: scope}) ON CREATE SET s.tenant = tenant, s.namespace = namespace, s.purpose = purpose;
