-- The index of what is found by words and by meaning. Each query has the name that it has in the other store.
--
-- A kind is 0 for the sentences of statements, 1 for chunks of episodes, and of postings 2 for the trigrams of names.
-- Many keys are given as one JSON array, so that the text of a query is constant.

-- name: indexed
SELECT passages, words, changes, drops FROM indexed WHERE scope_pk = ?1 AND kind = ?2

-- name: count_unwritten
SELECT count(*) FROM (SELECT 1 FROM passages INDEXED BY passages_unwritten WHERE scope_pk = ?1 AND wants = 1 LIMIT ?2)

-- name: count_uncut
SELECT count(*) FROM (
  SELECT 1 FROM kept INDEXED BY kept_uncut WHERE scope_pk = ?1 AND cut = 0 AND destroyed = 0 LIMIT ?2)

-- name: unwritten
SELECT s.subject_position, s.subject_ordinal, s.predicate, s.language,
  v.value_type, v.value_text, v.value_qualifier, p.value_key
FROM passages p INDEXED BY passages_unwritten
JOIN slots s ON s.pk = p.slot_pk
JOIN versions v ON v.pk = (
  SELECT n.pk FROM versions n INDEXED BY versions_of_value
  WHERE n.slot_pk = p.slot_pk AND n.value_key = p.value_key LIMIT 1)
WHERE p.scope_pk = ?1 AND p.wants = 1 ORDER BY p.pk LIMIT ?2

-- name: uncut
SELECT position, ordinal FROM kept INDEXED BY kept_uncut
WHERE scope_pk = ?1 AND cut = 0 AND destroyed = 0 ORDER BY position, ordinal LIMIT ?2

-- name: models
SELECT pk, stage, name, dimensions FROM models WHERE tenant = ?1

-- name: unserved
SELECT text_key, min(text) FROM passages INDEXED BY passages_unserved
WHERE scope_pk = ?1 AND text_key IS NOT NULL AND serving = 0 GROUP BY text_key LIMIT ?2

-- name: untargeted
SELECT text_key, min(text) FROM passages INDEXED BY passages_untargeted
WHERE scope_pk = ?1 AND text_key IS NOT NULL AND target = 0 GROUP BY text_key LIMIT ?2

-- name: all_texts
-- Of a model that nobody has begun.
SELECT text_key, min(text) FROM passages INDEXED BY passages_by_text
WHERE tenant_pk = ?3 AND scope_pk = ?1 AND text_key IS NOT NULL GROUP BY text_key LIMIT ?2

-- name: count_unserved
SELECT count(*) FROM (
  SELECT DISTINCT text_key FROM passages INDEXED BY passages_unserved
  WHERE scope_pk = ?1 AND text_key IS NOT NULL AND serving = 0 LIMIT ?2)

-- name: count_untargeted
SELECT count(*) FROM (
  SELECT DISTINCT text_key FROM passages INDEXED BY passages_untargeted
  WHERE scope_pk = ?1 AND text_key IS NOT NULL AND target = 0 LIMIT ?2)

-- name: count_texts
SELECT count(*) FROM (
  SELECT DISTINCT text_key FROM passages INDEXED BY passages_by_text
  WHERE tenant_pk = ?3 AND scope_pk = ?1 AND text_key IS NOT NULL LIMIT ?2)

-- name: scopes_to_index
-- Where ?1 is NULL, vectors are wanted of no model.
SELECT t.tenant, o.namespace, o.purpose
FROM tenants t JOIN scopes o ON o.tenant_pk = t.pk
LEFT JOIN models m ON m.tenant = t.tenant AND m.name = ?1
WHERE EXISTS (SELECT 1 FROM passages INDEXED BY passages_unwritten WHERE scope_pk = o.pk AND wants = 1)
  OR EXISTS (SELECT 1 FROM kept INDEXED BY kept_uncut WHERE scope_pk = o.pk AND cut = 0 AND destroyed = 0)
  OR (?1 IS NOT NULL AND CASE m.stage
    WHEN 'serving' THEN EXISTS (
      SELECT 1 FROM passages INDEXED BY passages_unserved
      WHERE scope_pk = o.pk AND text_key IS NOT NULL AND serving = 0)
    WHEN 'target' THEN EXISTS (
      SELECT 1 FROM passages INDEXED BY passages_untargeted
      WHERE scope_pk = o.pk AND text_key IS NOT NULL AND target = 0)
    ELSE EXISTS (SELECT 1 FROM indexed WHERE scope_pk = o.pk AND passages > 0) END)
ORDER BY t.tenant, o.namespace, o.purpose LIMIT ?2

-- name: term_counts
SELECT w.term, w.passages FROM json_each(?1) j CROSS JOIN words w ON w.scope_pk = ?2 AND w.kind = ?3 AND w.term = j.value

-- name: rank_words
-- By BM25 (Robertson and Zaragoza 2009, k1 = 1.2, b = 0.75): ?1 has the weight of each term, ?4 is the mean length.
-- Of two that are as good the later one comes first.
SELECT p.passage_pk, sum(w.value * 2.2 * p.occurrences / (p.occurrences + 0.3 + 0.9 * p.length / ?4)) AS score
FROM json_each(?1) w CROSS JOIN postings p ON p.scope_pk = ?2 AND p.kind = ?3 AND p.term = w.key
GROUP BY p.passage_pk ORDER BY score DESC, p.passage_pk DESC LIMIT ?5

-- name: rank_word
-- The same by one term of weight ?6, of which each passage has one posting. The later ones are read first, for a passage
-- that is as good as the worst that is kept so far is then passed over.
SELECT passage_pk, ?6 * 2.2 * occurrences / (occurrences + 0.3 + 0.9 * length / ?4) AS score
FROM (SELECT passage_pk, occurrences, length FROM postings
  WHERE scope_pk = ?2 AND kind = ?3 AND term = ?1 ORDER BY passage_pk DESC LIMIT -1)
ORDER BY score DESC, passage_pk DESC LIMIT ?5

-- name: parts_of_word
-- What a term of weight 1 adds to each passage, in millionths, below 22 bits of its key; all in one text.
SELECT group_concat(passage_pk << 22
  | CAST(2200000 * occurrences / (occurrences + 0.3 + 0.9 * length / ?4) AS INTEGER))
FROM postings WHERE scope_pk = ?2 AND kind = ?3 AND term = ?1

-- name: rank_names
-- By the share of a name's trigrams that are among those of ?1.
SELECT p.passage_pk, count(*) * 1.0 / p.length AS score
FROM json_each(?1) w CROSS JOIN postings p ON p.scope_pk = ?2 AND p.kind = 2 AND p.term = w.value
GROUP BY p.passage_pk ORDER BY score DESC, p.passage_pk DESC LIMIT ?3

-- name: facts_of_passages
-- Of the passages ?1 the versions that are believed at ?2 and meet [?3, ?4), of the predicates ?5 or, where that is
-- NULL, of any; what has expired is not served.
SELECT p.pk, p.text_key, v.pk, v.recorded_from, v.position, v.ordinal
FROM json_each(?1) c CROSS JOIN passages p ON p.pk = c.value AND p.scope_pk = ?7
CROSS JOIN versions v INDEXED BY versions_of_value ON v.slot_pk = p.slot_pk AND v.value_key = p.value_key
  AND v.recorded_to > ?2 AND v.recorded_from <= ?2 AND v.valid_to > ?3 AND v.valid_from < ?4
WHERE (?5 IS NULL OR (SELECT s.predicate FROM slots s WHERE s.pk = p.slot_pk) IN (SELECT n.value FROM json_each(?5) n))
  AND (v.may_expire_at > ?6 OR EXISTS (
    SELECT 1 FROM extents x JOIN claims y ON y.tenant_pk = v.tenant_pk AND y.position = x.claim_position
      AND y.ordinal = x.claim_ordinal
    WHERE x.slot_pk = v.slot_pk AND x.value_key = v.value_key AND x.valid_from >= v.valid_from AND x.valid_from < v.valid_to
      AND x.recorded_from <= ?2 AND x.recorded_to > ?2 AND y.expires_at > ?6))

-- name: chunks_of_passages
SELECT p.pk, p.text_key, p.position, p.ordinal, p.number, p.turn, p.first_char, p.end_char, p.text
FROM json_each(?1) c CROSS JOIN passages p ON p.pk = c.value AND p.scope_pk = ?3
WHERE p.since <= ?2 AND p.text IS NOT NULL

-- name: vectors_after
-- Vectors of model ?4 of passages of a kind that got theirs after the change ?3, with the predicates of statements.
SELECT p.pk, p.text_key, coalesce(s.predicate, ''), p.since, v.vector
FROM passages p INDEXED BY passages_changed JOIN vectors v ON v.model_pk = ?4 AND v.text_key = p.text_key
LEFT JOIN slots s ON s.pk = p.slot_pk
WHERE p.scope_pk = ?1 AND p.kind = ?2 AND p.changed > ?3 AND p.changed > 0

-- name: passage_of_statement
SELECT pk, tenant_pk, scope_pk, kind, text_key, length, terms, grams FROM passages
WHERE slot_pk = ?1 AND value_key = ?2

-- name: passages_gone
-- Statements of a slot of which no version is left.
SELECT p.pk, p.tenant_pk, p.scope_pk, p.kind, p.text_key, p.length, p.terms, p.grams
FROM passages p INDEXED BY passages_of_slot
WHERE p.slot_pk = ?1 AND NOT EXISTS (
  SELECT 1 FROM versions v INDEXED BY versions_of_value WHERE v.slot_pk = p.slot_pk AND v.value_key = p.value_key)

-- name: passages_of_words
SELECT pk, tenant_pk, scope_pk, kind, text_key, length, terms, grams FROM passages
WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: passages_naming
-- Written statements about the entity at ?2, ?3, or that point at it: ?4 is its value key.
SELECT p.pk, p.tenant_pk, p.scope_pk, p.kind, p.text_key, p.length, p.terms, p.grams
FROM scopes o JOIN slots s ON s.scope_pk = o.pk AND s.subject_position = ?2 AND s.subject_ordinal = ?3
JOIN passages p INDEXED BY passages_of_slot ON p.slot_pk = s.pk
WHERE o.tenant_pk = ?1 AND p.text_key IS NOT NULL
UNION
SELECT p.pk, p.tenant_pk, p.scope_pk, p.kind, p.text_key, p.length, p.terms, p.grams
FROM claims c INDEXED BY claims_of_entity
JOIN passages p INDEXED BY passages_of_slot ON p.slot_pk = c.slot_pk AND p.value_key = c.value_key
WHERE c.value_key = ?4 AND c.value_type = 'entity' AND p.tenant_pk = ?1 AND p.text_key IS NOT NULL

-- name: put_statement
INSERT INTO passages (tenant_pk, scope_pk, kind, wants, since, slot_pk, value_key) VALUES (?1, ?2, 0, 1, ?5, ?3, ?4)
ON CONFLICT DO NOTHING

-- name: rewrite_about
UPDATE passages SET wants = 1 WHERE wants = 0 AND slot_pk IN (
  SELECT pk FROM slots WHERE scope_pk = ?1 AND subject_position = ?2 AND subject_ordinal = ?3)

-- name: rewrite_pointing
UPDATE passages SET wants = 1 WHERE wants = 0 AND pk IN (
  SELECT p.pk FROM versions v INDEXED BY versions_by_value
  JOIN passages p INDEXED BY passages_of_slot ON p.slot_pk = v.slot_pk AND p.value_key = v.value_key
  WHERE v.scope_pk = ?1 AND v.value_key = ?2)

-- name: rewrite_under
UPDATE passages SET wants = 1 WHERE wants = 0 AND pk IN (
  SELECT p.pk FROM scopes o JOIN slots s INDEXED BY slots_by_predicate ON s.scope_pk = o.pk AND s.predicate = ?2
  JOIN passages p INDEXED BY passages_of_slot ON p.slot_pk = s.pk
  WHERE o.tenant_pk = ?1)

-- name: put_chunk
INSERT INTO passages (tenant_pk, scope_pk, kind, wants, since, position, ordinal, number, turn, first_char, end_char)
VALUES (?1, ?2, 1, 0, (SELECT e.recorded_at FROM events e WHERE e.tenant_pk = ?1 AND e.position = ?3),
  ?3, ?4, ?5, ?6, ?7, ?8) RETURNING pk

-- name: words_to_cut
SELECT 1 FROM kept WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3 AND scope_pk = ?4 AND destroyed = 0

-- name: cut_words
UPDATE kept SET cut = 1 WHERE tenant_pk = ?1 AND position = ?2 AND ordinal = ?3

-- name: write_passage
-- ?7 and ?8 are the serving model and the target, ?9 is the change of the scope.
UPDATE passages SET wants = 0, text = ?2, text_key = ?3, length = ?4, terms = ?5, grams = ?6,
  serving = EXISTS (SELECT 1 FROM vectors v WHERE v.model_pk = ?7 AND v.text_key = ?3),
  target = EXISTS (SELECT 1 FROM vectors v WHERE v.model_pk = ?8 AND v.text_key = ?3),
  changed = CASE WHEN EXISTS (SELECT 1 FROM vectors v WHERE v.model_pk IN (?7, ?8) AND v.text_key = ?3) THEN ?9 ELSE 0 END
WHERE pk = ?1

-- name: keep_passage
UPDATE passages SET wants = 0 WHERE pk = ?1

-- name: empty_passage
UPDATE passages SET wants = 1, text = NULL, text_key = NULL, length = 0, terms = NULL, grams = NULL, serving = 0,
  target = 0, changed = 0
WHERE pk = ?1

-- name: remove_passage
DELETE FROM passages WHERE pk = ?1

-- name: put_posting
INSERT INTO postings (scope_pk, kind, term, passage_pk, occurrences, length) VALUES (?1, ?2, ?3, ?4, ?5, ?6)

-- name: remove_posting
DELETE FROM postings WHERE scope_pk = ?1 AND kind = ?2 AND term = ?3 AND passage_pk = ?4

-- name: count_indexed
INSERT INTO indexed (scope_pk, kind, passages, words, changes, drops) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT DO UPDATE SET passages = passages + excluded.passages, words = words + excluded.words,
  changes = changes + excluded.changes, drops = drops + excluded.drops

-- name: put_model
INSERT INTO models (tenant, stage, name, dimensions) VALUES (?1, ?2, ?3, ?4)

-- name: promote_model
UPDATE models SET stage = 'serving' WHERE pk = ?1

-- name: remove_model
DELETE FROM models WHERE pk = ?1

-- name: remove_vectors_of_model
DELETE FROM vectors WHERE model_pk = ?1

-- name: no_target
UPDATE passages SET target = 0 WHERE tenant_pk = ?1 AND text_key IS NOT NULL AND target = 1

-- name: serve_target
UPDATE passages SET serving = target, target = 0 WHERE tenant_pk = ?1 AND text_key IS NOT NULL

-- name: drop_of_tenant
-- What is held in memory of every scope of a tenant is made anew.
UPDATE indexed SET drops = drops + 1 WHERE scope_pk IN (SELECT pk FROM scopes WHERE tenant_pk = ?1)

-- name: passages_of_text
SELECT pk, scope_pk, kind FROM passages INDEXED BY passages_by_text WHERE tenant_pk = ?1 AND text_key = ?2

-- name: put_vector
INSERT INTO vectors (model_pk, text_key, vector) VALUES (?1, ?2, ?3)
ON CONFLICT (model_pk, text_key) DO UPDATE SET vector = excluded.vector

-- name: serve_vector
UPDATE passages SET serving = 1, changed = ?2 WHERE pk = ?1

-- name: target_vector
UPDATE passages SET target = 1, changed = ?2 WHERE pk = ?1

-- name: remove_vectors
-- Of a text that no passage of the tenant has any more.
DELETE FROM vectors
WHERE text_key = ?2 AND model_pk IN (SELECT m.pk FROM tenants t JOIN models m ON m.tenant = t.tenant WHERE t.pk = ?1) AND NOT EXISTS (
  SELECT 1 FROM passages INDEXED BY passages_by_text WHERE tenant_pk = ?1 AND text_key = ?2)

-- name: empty_postings
DELETE FROM postings WHERE scope_pk = ?1

-- name: empty_statements
UPDATE passages SET wants = 1, text = NULL, text_key = NULL, length = 0, terms = NULL, grams = NULL, serving = 0,
  target = 0, changed = 0
WHERE slot_pk IN (SELECT pk FROM slots WHERE scope_pk = ?1) AND text_key IS NOT NULL

-- name: empty_chunks
DELETE FROM passages WHERE tenant_pk = ?1 AND position IS NOT NULL AND scope_pk = ?2

-- name: empty_counts
UPDATE indexed SET passages = 0, words = 0, drops = drops + 1 WHERE scope_pk = ?1

-- name: empty_vectors
DELETE FROM vectors
WHERE model_pk IN (SELECT pk FROM models WHERE tenant = ?1) AND NOT EXISTS (
  SELECT 1 FROM passages p INDEXED BY passages_by_text WHERE p.tenant_pk = ?2 AND p.text_key = vectors.text_key)

-- name: uncut_all
UPDATE kept SET cut = 0 WHERE tenant_pk = ?1 AND scope_pk = ?2 AND cut = 1
