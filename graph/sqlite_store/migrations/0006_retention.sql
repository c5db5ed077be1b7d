-- A claim may expire. A version says from when on some claim that ever showed in it may have: before that, and where
-- none does, nobody need look at its claims.

ALTER TABLE claims ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 4611686018427387904;
ALTER TABLE versions ADD COLUMN may_expire_at INTEGER NOT NULL DEFAULT 4611686018427387904;
CREATE INDEX claims_expiring ON claims (slot_pk, value_key, expires_at) WHERE expires_at < 4611686018427387904;
CREATE INDEX claims_overdue ON claims (tenant_pk, expires_at, position, ordinal)
  WHERE expires_at < 4611686018427387904 AND state = 'accepted' AND asserts = 1;

-- Whether the words of an episode were destroyed; bookkeeping, so that a sweep finds those that are there.
ALTER TABLE kept ADD COLUMN destroyed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX kept_words ON kept (tenant_pk, position, ordinal) WHERE destroyed = 0;
CREATE INDEX operations_receipts ON operations (changed_at, pk) WHERE state = 'done' AND receipts IS NOT NULL;
