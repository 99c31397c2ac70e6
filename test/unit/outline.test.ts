import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as doors from '../../src/doors/doors.ts'
import * as outline from '../../src/doors/outline.ts'
import { migrationFolders } from '../../src/main.ts'

test('what commands know of the doors without loading them is what the doors say', () => {
  assert.deepEqual(outline.doorSettings(), doors.doorSettings())
  assert.deepEqual(outline.migrationFolders(), migrationFolders())
})
