-- What agents hand over to each other, and who adopted it. No part of the ledger.

CREATE TABLE handoffs (
  pk INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  purpose TEXT NOT NULL,
  handoff TEXT NOT NULL,
  sender TEXT NOT NULL,
  receiver TEXT,
  -- All that it says, as JSON.
  content TEXT NOT NULL,
  made_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  UNIQUE (tenant, namespace, purpose, handoff)
) STRICT;
CREATE INDEX handoffs_by_end ON handoffs (tenant, expires_at);

CREATE TABLE adoptions (
  handoff_pk INTEGER NOT NULL REFERENCES handoffs,
  principal TEXT NOT NULL,
  adopted_at INTEGER NOT NULL,
  PRIMARY KEY (handoff_pk, principal)
) STRICT, WITHOUT ROWID;
