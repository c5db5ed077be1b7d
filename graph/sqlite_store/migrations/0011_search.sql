-- What is found by words and by meaning: an index beside the ledger and no part of it. All of it can be made anew.

-- The versions of one value, current or not: which of them a sentence stands for at two instants.
DROP INDEX versions_current_value;
CREATE INDEX versions_of_value ON versions (slot_pk, value_key, recorded_to, valid_from);

-- A passage is a statement (a value in a slot, kind 0) or a chunk of the words of an episode (kind 1). `wants` is whether
-- a sentence is to be written. `terms` and `grams` are what stands for it in `postings`, with blanks between.
-- `serving` and `target` are whether its text has a vector of the model of that stage; `changed` is the change of its scope
-- in which it got its newest vector; before `since` nothing was known of it.
CREATE TABLE passages (
  pk INTEGER PRIMARY KEY,
  tenant_pk INTEGER NOT NULL,
  scope_pk INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  wants INTEGER NOT NULL,
  since INTEGER NOT NULL,
  slot_pk INTEGER,
  value_key BLOB,
  position INTEGER,
  ordinal INTEGER,
  number INTEGER,
  turn INTEGER,
  first_char INTEGER,
  end_char INTEGER,
  text_key BLOB,
  length INTEGER NOT NULL DEFAULT 0,
  serving INTEGER NOT NULL DEFAULT 0,
  target INTEGER NOT NULL DEFAULT 0,
  changed INTEGER NOT NULL DEFAULT 0,
  text TEXT,
  terms TEXT,
  grams TEXT
) STRICT;
CREATE UNIQUE INDEX passages_of_slot ON passages (slot_pk, value_key) WHERE slot_pk IS NOT NULL;
CREATE UNIQUE INDEX passages_of_episode ON passages (tenant_pk, position, ordinal, number) WHERE position IS NOT NULL;
CREATE INDEX passages_unwritten ON passages (scope_pk, pk) WHERE wants = 1;
CREATE INDEX passages_by_text ON passages (tenant_pk, text_key, scope_pk) WHERE text_key IS NOT NULL;
CREATE INDEX passages_unserved ON passages (scope_pk, text_key) WHERE text_key IS NOT NULL AND serving = 0;
CREATE INDEX passages_untargeted ON passages (scope_pk, text_key) WHERE text_key IS NOT NULL AND target = 0;
CREATE INDEX passages_changed ON passages (scope_pk, kind, changed) WHERE changed > 0;

-- Which passages of a scope have a term: a word of a sentence (kind 0), of a chunk (1), a trigram of a name (2).
-- How often it occurs there, and how long the passage is, stand beside it, so that ranking reads nothing else.
CREATE TABLE postings (
  scope_pk INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  term TEXT NOT NULL,
  passage_pk INTEGER NOT NULL,
  occurrences INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (scope_pk, kind, term, passage_pk)
) STRICT, WITHOUT ROWID;

-- How many passages of a scope have a text, and how many words these have together. `changes` counts writes of vectors,
-- `drops` passages that went: what is held in memory is made anew after one.
CREATE TABLE indexed (
  scope_pk INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  passages INTEGER NOT NULL,
  words INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  drops INTEGER NOT NULL,
  PRIMARY KEY (scope_pk, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE models (
  pk INTEGER PRIMARY KEY,
  tenant TEXT NOT NULL,
  stage TEXT NOT NULL,
  name TEXT NOT NULL,
  dimensions INTEGER NOT NULL,
  UNIQUE (tenant, stage)
) STRICT;

CREATE TABLE vectors (
  pk INTEGER PRIMARY KEY,
  model_pk INTEGER NOT NULL REFERENCES models,
  text_key BLOB NOT NULL,
  vector BLOB NOT NULL,
  UNIQUE (model_pk, text_key)
) STRICT;

-- Whether the words of an episode are cut into chunks.
ALTER TABLE kept ADD COLUMN cut INTEGER NOT NULL DEFAULT 0;
CREATE INDEX kept_uncut ON kept (scope_pk, position, ordinal) WHERE cut = 0 AND destroyed = 0;

INSERT INTO passages (tenant_pk, scope_pk, kind, wants, since, slot_pk, value_key)
SELECT tenant_pk, scope_pk, 0, 1, min(recorded_from), slot_pk, value_key FROM versions GROUP BY slot_pk, value_key;
