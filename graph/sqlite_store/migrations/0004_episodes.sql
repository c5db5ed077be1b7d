-- Recorded episodes, whose words lie in a payload of their own, and the queue of those that are to be read.

-- A payload about a recorded episode has the ordinal of the episode below zero: -1 is that of 0.
CREATE TABLE kept (
  tenant_pk INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  scope_pk INTEGER NOT NULL REFERENCES scopes,
  content BLOB NOT NULL,
  PRIMARY KEY (tenant_pk, position, ordinal)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX kept_by_content ON kept (scope_pk, content);

-- The words that a claim quotes, which go with it.
CREATE TABLE quotes (
  tenant_pk INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  turn INTEGER,
  first_char INTEGER NOT NULL,
  end_char INTEGER NOT NULL,
  quote TEXT NOT NULL,
  PRIMARY KEY (tenant_pk, position, ordinal)
) STRICT, WITHOUT ROWID;

-- `due` is when it may be leased: of one that waits for another of its session, or is over, NULL. No part of the ledger.
CREATE TABLE operations (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL,
  position INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  scope_pk INTEGER NOT NULL REFERENCES scopes,
  lane TEXT NOT NULL,
  principal TEXT NOT NULL,
  state TEXT NOT NULL,
  due INTEGER,
  next_at INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  token INTEGER NOT NULL,
  worker TEXT,
  reason TEXT,
  receipts BLOB,
  queued_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  UNIQUE (tenant_pk, position, ordinal)
) STRICT;
CREATE INDEX operations_due ON operations (due, pk) WHERE due IS NOT NULL;
CREATE INDEX operations_open ON operations (tenant_pk, lane, position, ordinal) WHERE state IN ('queued', 'running');
CREATE INDEX operations_by_state ON operations (scope_pk, state, position, ordinal);
CREATE INDEX operations_changed ON operations (state, changed_at, reason);
