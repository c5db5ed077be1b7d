// What agents hand over to each other, and who adopted it. No part of the ledger; it changes under its tenant's lock
// alone.

CREATE CONSTRAINT handoff_key IF NOT EXISTS FOR (n:Handoff) REQUIRE n.key IS UNIQUE;
CREATE INDEX handoff_scope IF NOT EXISTS FOR (n:Handoff) ON (n.scope, n.handoff);
CREATE INDEX handoff_namespace IF NOT EXISTS FOR (n:Handoff) ON (n.tenant, n.namespace, n.purpose);
CREATE INDEX handoff_end IF NOT EXISTS FOR (n:Handoff) ON (n.tenant, n.expires_at);

CREATE CONSTRAINT adoption_key IF NOT EXISTS FOR (n:Adoption) REQUIRE n.key IS UNIQUE;
CREATE INDEX adoption_handoff IF NOT EXISTS FOR (n:Adoption) ON (n.handoff, n.adopted_at);
CREATE INDEX adoption_end IF NOT EXISTS FOR (n:Adoption) ON (n.tenant, n.expires_at);
