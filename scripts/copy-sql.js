// The compiler leaves .sql, .json and pages with their scripts behind; the built server reads them from beside its own code.
import { cpSync } from 'node:fs'

const carried = /\.(sql|json|html|css|svg|js)$/
cpSync('src', 'dist', { recursive: true, filter: (path) => !/\.[a-z]+$/.test(path) || carried.test(path) })
