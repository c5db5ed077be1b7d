-- A claim may expire. A version says from when on some claim that ever showed in it may have: before that, and where
-- none does, nobody need look at its claims.

ALTER TABLE claims ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 4611686018427387904;
ALTER TABLE versions ADD COLUMN may_expire_at INTEGER NOT NULL DEFAULT 4611686018427387904;
CREATE INDEX claims_expiring ON claims (slot_pk, value_key, expires_at) WHERE expires_at < 4611686018427387904;
CREATE INDEX claims_overdue ON claims (tenant_pk, expires_at, position, ordinal)
  WHERE expires_at < 4611686018427387904 AND state = 'accepted' AND asserts = 1;
