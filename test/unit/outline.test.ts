import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOORS } from '../../src/doors/doors.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'

test('what is known of the doors without loading them is what the doors say', () => {
  const [core, ...ofDoors] = migrationFolders()

  assert.deepEqual(doorSettings(), Object.assign({}, ...DOORS.map(({ settings }) => settings)))
  assert.equal(core?.owner, 'core')
  assert.deepEqual(
    ofDoors,
    DOORS.map(({ name, migrations }) => ({ owner: name, folder: migrations })),
  )
})
