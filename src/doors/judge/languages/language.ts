// A language is a table entry: how its programs are compiled and run. The table that ships is languages.json beside this
// file; JUDGE_LANGUAGES_FILE changes or adds entries by id, and takes one away where it says null.
//
// In commands: {dir} is the folder of the program, {sources} all of its files in this language, {entry} the one that is
// started, {main_class} Java's, {headers} where precompiled headers are, {static} -static where that links,
// {linker} the options for the gold linker where it is installed, {memory_mb} the limit, {home} what the command `home` printed. The first word is
// looked for on this machine.
import { readFile } from 'node:fs/promises'
import { StartError } from '../../../core/start-error.ts'
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'

const Command = Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 100 })

const LanguageEntry = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 60 }),
    extensions: Type.Array(Type.String({ pattern: '^\\.[A-Za-z0-9+]{1,10}$' }), { minItems: 1 }),
    /** What a submission without a file name is called. */
    source: Type.String({ pattern: '^[A-Za-z0-9_.-]{1,60}$' }),
    home: Type.Optional(Command),
    version: Command,
    compile: Type.Optional(Command),
    run: Command,
    /** Archives of the compiler with which {static} in `compile` becomes -static; without one of them it is left out. */
    static: Type.Optional(
      Type.Array(Type.String({ pattern: '^[A-Za-z0-9_.+-]{1,60}$' }), { minItems: 1, maxItems: 20 }),
    ),
    /** A header that is compiled once, and the command for it. */
    header: Type.Optional(
      Type.Object({ name: Type.String({ pattern: '^[A-Za-z0-9_./+-]{1,60}$' }), compile: Command }),
    ),
    /** Needed in the box beside the system's own folders, where they exist. */
    paths: Type.Optional(Type.Array(Type.String({ pattern: '^/' }))),
    env: Type.Optional(Type.Record(Type.String(), Type.String())),
    /** Time limits are multiplied by this. */
    time_factor: Type.Optional(Type.Number({ minimum: 0.1, maximum: 100 })),
    /** What the runtime itself needs beyond the problem's limit. */
    memory_extra_mb: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_536 })),
    processes: Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 })),
    /** For people: how to get it. */
    install: Type.Optional(Type.String()),
  },
  { additionalProperties: false },
)
const LanguageTable = Compile(
  Type.Record(Type.String({ pattern: '^[a-z][a-z0-9_+-]{0,29}$' }), Type.Union([LanguageEntry, Type.Null()]), {
    additionalProperties: false,
  }),
)

export type Language = Static<typeof LanguageEntry> & { id: string }

const SHIPPED_LANGUAGES = new URL('languages.json', import.meta.url)

/** In the order of the tables. Stops the start with a sentence if the file of the settings is not right. */
export async function loadLanguages(ownFile: string): Promise<ReadonlyMap<string, Language>> {
  const languages = new Map<string, Language>()
  for (const file of ownFile === '' ? [SHIPPED_LANGUAGES] : [SHIPPED_LANGUAGES, ownFile]) {
    for (const [id, entry] of Object.entries(await readTable(file))) {
      if (entry === null) languages.delete(id)
      else languages.set(id, { ...entry, id })
    }
  }
  return languages
}

async function readTable(file: string | URL) {
  const name = file instanceof URL ? 'languages.json' : `JUDGE_LANGUAGES_FILE ${file}`
  let table: unknown
  try {
    table = JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw new StartError(`${name} cannot be read: ${error instanceof Error ? error.message : String(error)}.`)
  }
  if (LanguageTable.Check(table)) return table
  const [first] = LanguageTable.Errors(table)
  throw new StartError(`${name}: ${first?.instancePath ?? ''} ${first?.message ?? 'is not a table of languages'}.`)
}

/** The language whose files end so; undefined: none. */
export const languageOfFile = (languages: Iterable<Language>, file: string): Language | undefined =>
  [...languages].find(({ extensions }) => extensions.some((extension) => file.endsWith(extension)))
