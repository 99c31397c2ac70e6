import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DOORS } from '../../src/doors/doors.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'

test('the settings and migrations known without loading the doors are those of the doors', () => {
  const [core, ...ofDoors] = migrationFolders()

  assert.deepEqual(doorSettings(), Object.assign({}, ...DOORS.map(({ settings }) => settings)))
  assert.equal(core?.owner, 'core')
  assert.deepEqual(
    ofDoors,
    DOORS.map(({ name, migrations }) => ({ owner: name, folder: migrations })),
  )
})
