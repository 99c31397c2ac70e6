// The compiler leaves .sql, .lua, .json and pages with their scripts behind; the built server reads them from beside its own code.
import { cpSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

// A migration that was renamed or merged must not stay behind: the server applies whatever is there.
for (const path of readdirSync('dist', { recursive: true }))
  if (path.endsWith('migrations')) rmSync(join('dist', path), { recursive: true })

const carried = /\.(sql|lua|json|html|css|svg|js)$/
cpSync('src', 'dist', { recursive: true, filter: (path) => !/\.[a-z]+$/.test(path) || carried.test(path) })
