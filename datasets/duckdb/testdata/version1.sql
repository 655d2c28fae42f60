-- The schema of version 1 as it was released, with one row or more in every table.
CREATE TABLE machine (
  id BIGINT NOT NULL, host TEXT, cpu TEXT, gpu TEXT, arch TEXT, units BIGINT,
  clock_hz DOUBLE, mem_hz DOUBLE, mem_bytes BIGINT, driver TEXT, run_id BIGINT);
CREATE TABLE ceiling (
  machine_id BIGINT NOT NULL, run_id BIGINT, level TEXT NOT NULL, value DOUBLE NOT NULL,
  unit TEXT NOT NULL, measured BOOLEAN NOT NULL, clock_hz DOUBLE, source TEXT);
CREATE TABLE run (
  id BIGINT NOT NULL, machine_id BIGINT, tool TEXT NOT NULL, tool_version TEXT,
  format TEXT NOT NULL, format_version TEXT, command TEXT, env_hash TEXT, input_hash TEXT,
  started TIMESTAMP, clock_policy TEXT, cache_policy TEXT, replay_policy TEXT,
  status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'denied', 'empty')), error TEXT,
  time_metric TEXT, time_inclusive BOOLEAN);
CREATE TABLE region (
  id BIGINT NOT NULL, run_id BIGINT NOT NULL, parent_id BIGINT, kind TEXT NOT NULL,
  raw TEXT NOT NULL, short TEXT NOT NULL, mangled TEXT, module TEXT, ord BIGINT);
CREATE TABLE launch (
  id BIGINT NOT NULL, run_id BIGINT NOT NULL, region_id BIGINT NOT NULL,
  device BIGINT, context BIGINT, stream BIGINT, pid BIGINT, rank BIGINT, thread BIGINT,
  grid_x BIGINT, grid_y BIGINT, grid_z BIGINT, block_x BIGINT, block_y BIGINT, block_z BIGINT,
  regs BIGINT, smem BIGINT, sequence BIGINT, tool_id TEXT, start_ns BIGINT, dur_ns BIGINT);
CREATE TABLE counter (
  run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, launch_id BIGINT, metric TEXT NOT NULL,
  instance TEXT, value DOUBLE, unit TEXT, raw_value TEXT, raw_unit TEXT, coverage DOUBLE,
  status TEXT NOT NULL CHECK (status IN ('ok', 'na', 'unsupported', 'missing', 'multiplexed')));
CREATE TABLE code (
  id BIGINT NOT NULL, run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, isa TEXT NOT NULL,
  "offset" BIGINT, opcode TEXT, text TEXT, file TEXT, line BIGINT, inline_depth BIGINT);
CREATE TABLE static_feature (
  run_id BIGINT NOT NULL, region_id BIGINT NOT NULL, name TEXT NOT NULL, value DOUBLE);
CREATE TABLE pc_sample (
  run_id BIGINT NOT NULL, launch_id BIGINT NOT NULL, code_id BIGINT NOT NULL, reason TEXT NOT NULL,
  samples BIGINT, not_issued BIGINT);
CREATE TABLE telemetry (
  run_id BIGINT NOT NULL, sensor TEXT NOT NULL, t_ns BIGINT NOT NULL, value DOUBLE, unit TEXT,
  kind TEXT NOT NULL CHECK (kind IN ('instant', 'average', 'cumulative')));
CREATE TABLE attribute (
  run_id BIGINT NOT NULL, region_id BIGINT, launch_id BIGINT, name TEXT NOT NULL, value TEXT NOT NULL);
CREATE TABLE artefact (
  run_id BIGINT NOT NULL, path TEXT NOT NULL, sha256 TEXT NOT NULL, bytes BIGINT NOT NULL,
  kind TEXT NOT NULL, parser_version INTEGER NOT NULL, imported TIMESTAMP NOT NULL);
CREATE TABLE schema_migration (version INTEGER NOT NULL, what TEXT NOT NULL, applied TIMESTAMP NOT NULL);
INSERT INTO schema_migration VALUES (1, 'the first schema', '2025-01-02 03:04:05');
INSERT INTO machine VALUES (1, 'node7', 'Xeon', 'A100', 'cc8.0', 108, 1.41e9, NULL, 42949672960, '550.1', 1);
INSERT INTO machine VALUES (2, 'node7', 'Xeon', 'A100', 'cc8.0', 108, 1.41e9, NULL, 42949672960, '550.1', 2);
INSERT INTO machine VALUES (3, 'node8', NULL, NULL, 'cc8.0', NULL, NULL, NULL, NULL, NULL, 3);
INSERT INTO ceiling VALUES (2, 2, 'dram', 1.4e12, 'byte/s', true, NULL, 'probe');
INSERT INTO ceiling VALUES (1, NULL, 'dram', 1.555e12, 'byte/s', false, NULL, 'datasheet');
INSERT INTO run VALUES (1, 1, 'ncu', '2024.1', 'ncu-csv', 'long', 'app -n 5', NULL, NULL, '2025-01-01 00:00:00.123456', 'base', NULL, NULL, 'ok', NULL, 'gpu__time_duration.sum', false);
INSERT INTO run VALUES (2, 2, 'ncu', NULL, 'ncu-csv', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'denied', 'ERR_NVGPUCTRPERM', NULL, NULL);
INSERT INTO run VALUES (3, 3, 'caliper', NULL, 'cali', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'ok', NULL, 'time', true);
INSERT INTO region VALUES (1, 1, NULL, 'kernel', 'void k<1>(int)', 'k', NULL, NULL, NULL), (2, 3, NULL, 'function', 'main', 'main', NULL, 'a.out', 0);
INSERT INTO launch VALUES (1, 1, 1, 0, 1, 7, 4711, NULL, NULL, 64, 1, 1, 256, 1, 1, 32, 0, 0, '0', NULL, 1500);
INSERT INTO counter VALUES (1, 1, 1, 'gpu__time_duration.sum', NULL, 1.5e-6, 's', '1.50', 'us', NULL, 'ok'), (3, 2, NULL, 'time', NULL, NULL, 's', 'nan', 's', NULL, 'na');
INSERT INTO code VALUES (1, 1, 1, 'sass', 16, 'LDG', 'LDG.E R0, [R2]', 'k.cu', 12, 0);
INSERT INTO static_feature VALUES (1, 1, 'loops', 2);
INSERT INTO pc_sample VALUES (1, 1, 1, 'long_scoreboard', 9, 7);
INSERT INTO telemetry VALUES (1, 'power', 1000, 71.5, 'W', 'instant');
INSERT INTO attribute VALUES (1, NULL, NULL, 'compiler', 'nvcc'), (1, 1, 1, 'nvtx', 'outer');
INSERT INTO artefact VALUES (1, 'a.csv', 'aa', 10, 'ncu-csv', 3, '2025-01-02 03:04:06'), (2, 'b.csv', 'bb', 11, 'ncu-csv', 3, '2025-01-02 03:04:07'), (3, 'c.cali', 'cc', 12, 'cali', 1, '2025-01-02 03:04:08');
