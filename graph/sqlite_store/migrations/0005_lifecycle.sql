-- A claim may be held before it is folded, and has a trust. What became of it stands in a table of its own.

ALTER TABLE slots ADD COLUMN trust INTEGER NOT NULL DEFAULT 2;
ALTER TABLE slots ADD COLUMN rejected INTEGER NOT NULL DEFAULT 0;

ALTER TABLE claims ADD COLUMN trust INTEGER NOT NULL DEFAULT 2;
ALTER TABLE claims ADD COLUMN echo INTEGER NOT NULL DEFAULT 0;
ALTER TABLE claims ADD COLUMN state TEXT NOT NULL DEFAULT 'accepted';
ALTER TABLE claims ADD COLUMN folded INTEGER NOT NULL DEFAULT 1;
-- The scope in which it waits and the rule that holds it, NULL where it does not wait.
ALTER TABLE claims ADD COLUMN held_in INTEGER;
ALTER TABLE claims ADD COLUMN held_by TEXT;

CREATE TABLE transitions (
  claim_pk INTEGER NOT NULL REFERENCES claims,
  position INTEGER NOT NULL,
  recorded_at INTEGER NOT NULL,
  state TEXT NOT NULL,
  rule TEXT NOT NULL,
  reason TEXT NOT NULL,
  actor TEXT NOT NULL,
  decided_on INTEGER,
  successor_position INTEGER,
  successor_ordinal INTEGER,
  PRIMARY KEY (claim_pk, position)
) STRICT, WITHOUT ROWID;

INSERT INTO transitions (claim_pk, position, recorded_at, state, rule, reason, actor, successor_position, successor_ordinal)
SELECT c.pk, c.ended_position, c.ended_at, c.ended_state, iif(c.successor_position IS NULL, 'withdraw', 'replace'),
  c.ended_reason, e.principal, c.successor_position, c.successor_ordinal
FROM claims c JOIN events e ON e.tenant_pk = c.tenant_pk AND e.position = c.ended_position
WHERE c.ended_position < 4611686018427387904;

UPDATE claims SET state = ended_state, folded = 0 WHERE ended_position < 4611686018427387904;

DROP INDEX claims_voices;
ALTER TABLE claims DROP COLUMN ended_position;
ALTER TABLE claims DROP COLUMN ended_at;
ALTER TABLE claims DROP COLUMN ended_state;
ALTER TABLE claims DROP COLUMN ended_reason;
ALTER TABLE claims DROP COLUMN successor_position;
ALTER TABLE claims DROP COLUMN successor_ordinal;
CREATE INDEX claims_voices ON claims (slot_pk, value_key, folded, root_pk, confidence) WHERE asserts = 1;
CREATE INDEX claims_held ON claims (held_in, position, ordinal) WHERE held_in IS NOT NULL;
