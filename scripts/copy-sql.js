// The compiler leaves .sql, .lua, .json and pages with their scripts behind; the built server reads them from beside its own code.
import { cpSync } from 'node:fs'

const carried = /\.(sql|lua|json|html|css|svg|js)$/
cpSync('src', 'dist', { recursive: true, filter: (path) => !/\.[a-z]+$/.test(path) || carried.test(path) })
