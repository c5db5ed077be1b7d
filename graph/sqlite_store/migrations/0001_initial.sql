-- The tables of the store. Times are int64 microseconds; 4611686018427387904 (2^62) is an end that is open.
-- An id is two integers, the position of its commit and the ordinal in it; the tenant's ledger tag is kept once.

CREATE TABLE tenants (
  pk INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL UNIQUE,
  ledger TEXT NOT NULL,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  digest BLOB NOT NULL,
  erasures INTEGER NOT NULL,
  schema_version INTEGER NOT NULL
) STRICT;

CREATE TABLE scopes (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  namespace TEXT NOT NULL,
  purpose TEXT NOT NULL,
  UNIQUE (tenant_pk, namespace, purpose)
) STRICT;

CREATE TABLE schemas (
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  position INTEGER NOT NULL,
  version INTEGER NOT NULL,
  document TEXT NOT NULL,
  PRIMARY KEY (tenant_pk, position)
) STRICT;

CREATE TABLE entities (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  namespace TEXT NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  key TEXT,
  UNIQUE (tenant_pk, position, ordinal)
) STRICT;
CREATE UNIQUE INDEX entities_by_key ON entities (tenant_pk, namespace, key) WHERE key IS NOT NULL;

-- Sources, roots and principals: each name once per tenant.
CREATE TABLE names (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  name TEXT NOT NULL,
  UNIQUE (tenant_pk, name)
) STRICT;

CREATE TABLE episodes (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  episode TEXT NOT NULL,
  source_pk INTEGER NOT NULL,
  root_pk INTEGER NOT NULL,
  observed_at INTEGER,
  UNIQUE (tenant_pk, episode)
) STRICT;

CREATE TABLE slots (
  pk INTEGER PRIMARY KEY,
  scope_pk INTEGER NOT NULL REFERENCES scopes,
  subject_position INTEGER NOT NULL,
  subject_ordinal INTEGER NOT NULL,
  predicate TEXT NOT NULL,
  language TEXT NOT NULL,
  version INTEGER NOT NULL,
  last_observed INTEGER,
  last_position INTEGER,
  last_ordinal INTEGER,
  functional INTEGER NOT NULL,
  plain INTEGER NOT NULL,
  UNIQUE (scope_pk, subject_position, subject_ordinal, predicate, language)
) STRICT;
CREATE INDEX slots_by_predicate ON slots (scope_pk, predicate, subject_position, subject_ordinal, language);

CREATE TABLE claims (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  slot_pk INTEGER NOT NULL REFERENCES slots,
  asserts INTEGER NOT NULL,
  functional INTEGER NOT NULL,
  value_key BLOB,
  value_type TEXT,
  value_text TEXT,
  value_qualifier TEXT,
  start_kind INTEGER NOT NULL,
  start_lo INTEGER NOT NULL,
  start_hi INTEGER NOT NULL,
  end_kind INTEGER NOT NULL,
  end_lo INTEGER NOT NULL,
  end_hi INTEGER NOT NULL,
  stated_from TEXT,
  stated_to TEXT,
  zone TEXT,
  semantics TEXT,
  observed_at INTEGER NOT NULL,
  observed_stated INTEGER NOT NULL,
  source_pk INTEGER NOT NULL,
  episode_pk INTEGER,
  root_pk INTEGER NOT NULL,
  confidence REAL NOT NULL,
  schema_version INTEGER NOT NULL,
  principal_pk INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  ended_position INTEGER NOT NULL DEFAULT 4611686018427387904,
  ended_at INTEGER,
  ended_state TEXT,
  ended_reason TEXT,
  successor_position INTEGER,
  successor_ordinal INTEGER,
  UNIQUE (tenant_pk, position, ordinal)
) STRICT;
CREATE INDEX claims_by_slot ON claims (slot_pk, position, ordinal);
CREATE INDEX claims_voices ON claims (slot_pk, value_key, root_pk, confidence)
  WHERE asserts = 1 AND ended_position = 4611686018427387904;
CREATE INDEX claims_by_episode ON claims (episode_pk, slot_pk, value_key) WHERE episode_pk IS NOT NULL;
CREATE INDEX claims_by_source ON claims (source_pk);

CREATE TABLE versions (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  slot_pk INTEGER NOT NULL REFERENCES slots,
  scope_pk INTEGER NOT NULL,
  value_key BLOB NOT NULL,
  value_type TEXT NOT NULL,
  value_text TEXT NOT NULL,
  value_qualifier TEXT NOT NULL,
  certain INTEGER NOT NULL,
  valid_from INTEGER NOT NULL,
  valid_to INTEGER NOT NULL,
  recorded_from INTEGER NOT NULL,
  recorded_to INTEGER NOT NULL,
  UNIQUE (tenant_pk, position, ordinal)
) STRICT;
CREATE INDEX versions_current ON versions (slot_pk, valid_from) WHERE recorded_to = 4611686018427387904;
CREATE INDEX versions_current_value ON versions (slot_pk, value_key, valid_from) WHERE recorded_to = 4611686018427387904;
CREATE INDEX versions_by_valid ON versions (slot_pk, valid_from, recorded_from);
CREATE INDEX versions_by_recorded ON versions (slot_pk, recorded_from, valid_from);
CREATE INDEX versions_by_value ON versions (scope_pk, value_key, valid_from);

-- Over which valid time a claim shows, at which recorded time; each extent lies inside one version of its value.
CREATE TABLE extents (
  slot_pk INTEGER NOT NULL REFERENCES slots,
  value_key BLOB NOT NULL,
  valid_from INTEGER NOT NULL,
  claim_position INTEGER NOT NULL,
  claim_ordinal INTEGER NOT NULL,
  recorded_from INTEGER NOT NULL,
  valid_to INTEGER NOT NULL,
  recorded_to INTEGER NOT NULL,
  PRIMARY KEY (slot_pk, value_key, valid_from, claim_position, claim_ordinal, recorded_from)
) STRICT, WITHOUT ROWID;

CREATE TABLE support (
  slot_pk INTEGER NOT NULL REFERENCES slots,
  value_key BLOB NOT NULL,
  recorded_from INTEGER NOT NULL,
  sources INTEGER NOT NULL,
  occurrences INTEGER NOT NULL,
  doubt REAL NOT NULL,
  PRIMARY KEY (slot_pk, value_key, recorded_from)
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  kind TEXT NOT NULL,
  principal TEXT NOT NULL,
  restated TEXT NOT NULL,
  previous BLOB NOT NULL,
  digest BLOB NOT NULL,
  UNIQUE (tenant_pk, position)
) STRICT;

-- One row for each payload that an event has or had. Where the payload is gone its salt and body are NULL;
-- where it was restated `restated` is its own digest, while `digest` stays what the event says.
CREATE TABLE payloads (
  pk INTEGER PRIMARY KEY,
  event_pk INTEGER NOT NULL REFERENCES events,
  place INTEGER NOT NULL,
  tenant_pk INTEGER NOT NULL,
  subject_position INTEGER,
  subject_ordinal INTEGER,
  digest BLOB NOT NULL,
  restated BLOB,
  salt BLOB,
  body BLOB,
  UNIQUE (event_pk, place)
) STRICT;
CREATE INDEX payloads_by_subject ON payloads (tenant_pk, subject_position, subject_ordinal)
  WHERE subject_position IS NOT NULL;

CREATE TABLE answers (
  pk INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  key TEXT NOT NULL,
  request BLOB NOT NULL,
  receipt BLOB NOT NULL,
  until INTEGER NOT NULL,
  UNIQUE (tenant, principal, key)
) STRICT;
CREATE INDEX answers_by_until ON answers (tenant, until);

PRAGMA application_id = 1449619043;
