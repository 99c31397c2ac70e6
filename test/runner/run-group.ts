// Several files of tests in one process, one after the other: they share what takes long to load and to start.
//
//   node build/test/runner/run-group.js build/test/unit/a.test.js build/test/unit/b.test.js
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

for (const file of process.argv.slice(2)) await import(pathToFileURL(resolve(file)).href)
