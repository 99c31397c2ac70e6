import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'

/** Migrations of released versions, which databases have applied. A release adds its own; no line changes. */
const RELEASED: Readonly<Record<string, string>> = {
  // 0.2.0
  'src/core/migrations/001_core.sql': 'd22e20bc2a9ca54883a90388b317b434b241d01fc61e58ce6d78f97267eba6ae',
  'src/doors/arena/migrations/001_arena.sql': 'f34d223fc389aafa38e06b4a511866b28a6f74803678c315a10cf7f0879e2844',
  'src/doors/challenge/migrations/001_challenge.sql':
    '4c5e0c3689e8ce300b5b51bdcfd3c0c44422357e363cac2828e6f64558699ddf',
  'src/doors/desk/migrations/001_desk.sql': '41c58b6911b70f12c35610fce1d4632cb3f9de82a088c35e12afb07afae82806',
  'src/doors/judge/migrations/001_judge.sql': '298032e8eeafbd813b6363c1e9168694b76879cda8eac62d03f824b7972244de',
  'src/doors/pool/migrations/001_pool.sql': 'c8a5f6a73f20fc9d0601550719f1b1abe363a0d9607e46e0b923045683a47b4a',
}

test('a released migration is never edited: a change of the schema is a further migration', async () => {
  for (const [file, sha256] of Object.entries(RELEASED)) {
    assert.equal(
      createHash('sha256')
        .update(await readFile(file))
        .digest('hex'),
      sha256,
      file,
    )
  }
})
