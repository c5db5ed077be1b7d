// Sessions and their working notes, which go once they were read. No part of the ledger; they change under their
// tenant's lock alone.

CREATE CONSTRAINT session_key IF NOT EXISTS FOR (n:Session) REQUIRE n.key IS UNIQUE;
CREATE INDEX session_scope IF NOT EXISTS FOR (n:Session) ON (n.scope, n.session);
CREATE INDEX session_stage IF NOT EXISTS FOR (n:Session) ON (n.scope, n.stage, n.session);
CREATE INDEX session_namespace IF NOT EXISTS FOR (n:Session) ON (n.tenant, n.namespace, n.purpose);
CREATE INDEX session_idle IF NOT EXISTS FOR (n:Session) ON (n.stage, n.changed_at);

CREATE CONSTRAINT note_key IF NOT EXISTS FOR (n:Note) REQUIRE n.key IS UNIQUE;
CREATE INDEX note_number IF NOT EXISTS FOR (n:Note) ON (n.session, n.number);
CREATE INDEX note_operation IF NOT EXISTS FOR (n:Note) ON (n.tenant, n.operation);
