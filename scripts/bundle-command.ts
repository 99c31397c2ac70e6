// Part of `npm run build`.
import { bundleCommand } from './bundle.ts'

await bundleCommand()
