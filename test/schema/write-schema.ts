// `npm run schema`: writes docs/schema.sql from a freshly migrated database.
import { writeFile } from 'node:fs/promises'
import { openDatabase } from '../../src/core/db/database.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { freshDatabase } from '../support/database.ts'
import { startPostgres } from '../support/servers.ts'
import { describeSchema } from './describe-schema.ts'

const postgres = await startPostgres()
process.env['REEVE_TEST_POSTGRES'] = JSON.stringify(postgres.at)
try {
  const database = openDatabase(await freshDatabase(migrationFolders()), () => {})
  await writeFile('docs/schema.sql', await describeSchema(database))
  await database.close()
} finally {
  await postgres.stop()
}
