-- Keys that were issued, of which only the digest is kept, and to whom namespaces belong.

CREATE TABLE api_keys (
  pk INTEGER PRIMARY KEY,
  prefix TEXT NOT NULL UNIQUE,
  digest BLOB NOT NULL UNIQUE,
  tenant TEXT NOT NULL,
  principal TEXT NOT NULL,
  kind TEXT NOT NULL,
  permits TEXT NOT NULL,
  may_import INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  revoked_by TEXT
) STRICT;
CREATE INDEX api_keys_by_tenant ON api_keys (tenant, prefix);

CREATE TABLE owners (
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  owner TEXT NOT NULL,
  since INTEGER NOT NULL,
  decided_by TEXT NOT NULL,
  PRIMARY KEY (tenant, namespace)
) STRICT, WITHOUT ROWID;
