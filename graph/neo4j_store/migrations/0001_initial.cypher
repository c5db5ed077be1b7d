// What the store asks by, and what must be unique. Times are int64 microseconds; 4611686018427387904 (2^62) is an
// end that is open. Keys are hashes or begin with the tenant, so no look-up can cross a scope.
//
// Only what never changes is a range key, save `recorded_to`: whoever reads by it holds the tenant's lock, or asks
// the Clock afterwards whether it moved (read committed may miss an entry whose key changes during the scan).

CREATE CONSTRAINT migrations_name IF NOT EXISTS FOR (n:Migrations) REQUIRE n.name IS UNIQUE;
CREATE CONSTRAINT clock_tenant IF NOT EXISTS FOR (n:Clock) REQUIRE n.tenant IS UNIQUE;
CREATE CONSTRAINT scope_scope IF NOT EXISTS FOR (n:Scope) REQUIRE n.scope IS UNIQUE;
CREATE INDEX scope_tenant IF NOT EXISTS FOR (n:Scope) ON (n.tenant);
CREATE CONSTRAINT schema_position IF NOT EXISTS FOR (n:Schema) REQUIRE (n.tenant, n.position) IS UNIQUE;

CREATE CONSTRAINT entity_place IF NOT EXISTS FOR (n:Entity) REQUIRE n.place IS UNIQUE;
CREATE CONSTRAINT entity_key IF NOT EXISTS FOR (n:Entity) REQUIRE (n.tenant, n.namespace, n.key) IS UNIQUE;
CREATE INDEX entity_position IF NOT EXISTS FOR (n:Entity) ON (n.tenant, n.namespace, n.position);
CREATE CONSTRAINT value_said IF NOT EXISTS FOR (n:Value) REQUIRE n.said IS UNIQUE;
CREATE INDEX value_slot IF NOT EXISTS FOR (n:Value) ON (n.slot);

CREATE CONSTRAINT episode_episode IF NOT EXISTS FOR (n:Episode) REQUIRE (n.tenant, n.episode) IS UNIQUE;
CREATE CONSTRAINT activity_position IF NOT EXISTS FOR (n:Activity) REQUIRE (n.tenant, n.position) IS UNIQUE;
CREATE CONSTRAINT agent_agent IF NOT EXISTS FOR (n:Agent) REQUIRE (n.tenant, n.agent) IS UNIQUE;
CREATE CONSTRAINT payload_place IF NOT EXISTS FOR (n:Payload) REQUIRE (n.tenant, n.position, n.number) IS UNIQUE;
CREATE INDEX payload_subject IF NOT EXISTS FOR (n:Payload) ON (n.subject);
CREATE CONSTRAINT answer_key IF NOT EXISTS FOR (n:Answer) REQUIRE n.key IS UNIQUE;
CREATE INDEX answer_until IF NOT EXISTS FOR (n:Answer) ON (n.tenant, n.until);

CREATE CONSTRAINT slot_slot IF NOT EXISTS FOR (n:Slot) REQUIRE n.slot IS UNIQUE;
CREATE INDEX slot_pair IF NOT EXISTS FOR (n:Slot) ON (n.pair);
CREATE INDEX slot_subject IF NOT EXISTS FOR (n:Slot) ON (n.subject);
CREATE INDEX slot_entity IF NOT EXISTS FOR (n:Slot) ON (n.entity);
CREATE INDEX slot_place IF NOT EXISTS FOR (n:Slot) ON (n.scope, n.subject_position);
CREATE INDEX slot_predicate IF NOT EXISTS FOR (n:Slot) ON (n.scope, n.predicate, n.subject_position);

CREATE CONSTRAINT claim_place IF NOT EXISTS FOR (n:Claim) REQUIRE n.place IS UNIQUE;
CREATE INDEX claim_slot IF NOT EXISTS FOR (n:Claim) ON (n.slot, n.position);
CREATE INDEX claim_voice IF NOT EXISTS FOR (n:Claim) ON (n.voice);
CREATE INDEX claim_cited IF NOT EXISTS FOR (n:Claim) ON (n.cited);
CREATE INDEX claim_episode IF NOT EXISTS FOR (n:Claim) ON (n.scope, n.episode);
CREATE INDEX claim_source IF NOT EXISTS FOR (n:Claim) ON (n.scope, n.source);
CREATE INDEX claim_tenant IF NOT EXISTS FOR (n:Claim) ON (n.tenant, n.position);

CREATE CONSTRAINT support_since IF NOT EXISTS FOR (n:Support) REQUIRE (n.said, n.recorded_from) IS UNIQUE;
CREATE INDEX support_slot IF NOT EXISTS FOR (n:Support) ON (n.slot);
CREATE INDEX support_tenant IF NOT EXISTS FOR (n:Support) ON (n.tenant, n.recorded_from);

CREATE CONSTRAINT fact_place IF NOT EXISTS FOR ()-[r:FACT]-() REQUIRE r.place IS UNIQUE;
CREATE INDEX fact_current IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.slot, r.recorded_to, r.valid_from);
CREATE INDEX fact_said IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.said, r.recorded_to, r.valid_from);
CREATE INDEX fact_valid IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.slot, r.valid_from, r.recorded_from);
CREATE INDEX fact_recorded IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.slot, r.recorded_from, r.valid_from);
CREATE INDEX fact_held IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.held, r.valid_from);
CREATE INDEX fact_tenant IF NOT EXISTS FOR ()-[r:FACT]-() ON (r.tenant, r.position);

CREATE INDEX supports_said IF NOT EXISTS FOR ()-[r:SUPPORTS]-() ON (r.said, r.valid_from);
CREATE INDEX supports_current IF NOT EXISTS FOR ()-[r:SUPPORTS]-() ON (r.said, r.recorded_to, r.valid_from);
CREATE INDEX supports_slot IF NOT EXISTS FOR ()-[r:SUPPORTS]-() ON (r.slot, r.recorded_to, r.valid_from);
