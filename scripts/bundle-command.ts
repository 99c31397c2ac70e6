// Part of `npm run build`: dist/cli/main.js, and `reeve` for npx.
//
// package.json has no `bin`: for a program of the package that it is called in, npx installs that package into its cache first, which
// builds it again, and needs to write where it is installed.
import { chmodSync, rmSync, symlinkSync } from 'node:fs'
import { bundleCommand } from './bundle.ts'

const PROGRAM = 'dist/cli/main.js'
const LINK = 'node_modules/.bin/reeve'

await bundleCommand()
chmodSync(PROGRAM, 0o755)
rmSync(LINK, { force: true })
symlinkSync(`../../${PROGRAM}`, LINK)
