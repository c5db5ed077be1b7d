-- How many passages of a kind have a word: what a search asks of each word before it decides which to look for. A count
-- is kept where postings are, whoever writes them, and goes with the last of them.
CREATE TABLE words (
  scope_pk INTEGER NOT NULL,
  kind INTEGER NOT NULL,
  term TEXT NOT NULL,
  passages INTEGER NOT NULL,
  PRIMARY KEY (scope_pk, kind, term)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER words_more AFTER INSERT ON postings WHEN new.kind < 2 BEGIN
  INSERT INTO words (scope_pk, kind, term, passages) VALUES (new.scope_pk, new.kind, new.term, 1)
  ON CONFLICT DO UPDATE SET passages = passages + 1;
END;

CREATE TRIGGER words_fewer AFTER DELETE ON postings WHEN old.kind < 2 BEGIN
  UPDATE words SET passages = passages - 1 WHERE scope_pk = old.scope_pk AND kind = old.kind AND term = old.term;
  DELETE FROM words WHERE scope_pk = old.scope_pk AND kind = old.kind AND term = old.term AND passages = 0;
END;

INSERT INTO words (scope_pk, kind, term, passages)
SELECT scope_pk, kind, term, count(*) FROM postings WHERE kind < 2 GROUP BY scope_pk, kind, term;
