-- Sessions and their working notes, which go once they were read. No part of the ledger.

CREATE TABLE sessions (
  pk INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  namespace TEXT NOT NULL,
  purpose TEXT NOT NULL,
  session TEXT NOT NULL,
  principal TEXT NOT NULL,
  source TEXT NOT NULL,
  me TEXT,
  me_is_key INTEGER NOT NULL,
  zone TEXT,
  stage TEXT NOT NULL,
  opened_at INTEGER NOT NULL,
  changed_at INTEGER NOT NULL,
  notes INTEGER NOT NULL,
  -- Ids with blanks between.
  operations TEXT NOT NULL,
  UNIQUE (tenant, namespace, purpose, session)
) STRICT;
CREATE INDEX sessions_by_stage ON sessions (tenant, namespace, purpose, stage, session);
CREATE INDEX sessions_idle ON sessions (changed_at, tenant, session) WHERE stage = 'open';

CREATE TABLE notes (
  session_pk INTEGER NOT NULL REFERENCES sessions,
  number INTEGER NOT NULL,
  speaker TEXT NOT NULL,
  note TEXT NOT NULL,
  said_at INTEGER NOT NULL,
  operation TEXT,
  PRIMARY KEY (session_pk, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX notes_handed_over ON notes (operation, session_pk) WHERE operation IS NOT NULL;
