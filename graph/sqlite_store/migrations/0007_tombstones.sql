-- What is left of what was forgotten: no word of it. A tombstone has the position of its commit; the document is what
-- the journal keeps of it.

ALTER TABLE tenants ADD COLUMN secret BLOB;

CREATE TABLE tombstones (
  tenant_pk INTEGER NOT NULL REFERENCES tenants,
  position INTEGER NOT NULL,
  document TEXT NOT NULL,
  actor TEXT NOT NULL,
  recorded_at INTEGER NOT NULL,
  lifted_by TEXT,
  lifted_position INTEGER,
  lifted_at INTEGER,
  PRIMARY KEY (tenant_pk, position)
) STRICT, WITHOUT ROWID;

-- The ids of what is gone: `kind` is the beginning of an id, such as 'ent'.
CREATE TABLE forgotten (
  tenant_pk INTEGER NOT NULL,
  kind TEXT NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  tombstone INTEGER NOT NULL,
  PRIMARY KEY (tenant_pk, kind, position, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE marks (
  tenant_pk INTEGER NOT NULL,
  kind TEXT NOT NULL,
  digest BLOB NOT NULL,
  tombstone INTEGER NOT NULL,
  PRIMARY KEY (tenant_pk, kind, digest, tombstone)
) STRICT, WITHOUT ROWID;

-- That the file still has to be scrubbed: as long as there is a row.
CREATE TABLE scrubs (pk INTEGER PRIMARY KEY) STRICT;

CREATE INDEX payloads_of_nobody ON payloads (tenant_pk, event_pk) WHERE subject_position IS NULL;
CREATE INDEX claims_of_entity ON claims (value_key) WHERE value_type = 'entity';
