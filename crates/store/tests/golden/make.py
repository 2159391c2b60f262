"""Makes the golden databases of earlier schemas out of a home that a released program wrote.

    python3 make.py HOME/agent.sqlite ../../migrations/sqlite SCHEMA...

The rows are real; a schema without a table or a column goes without it. Schemas 12 and 14 are what their own programs left
behind, as it is: 14 by `live.sh`, and so should be what comes. A file that has landed is never made anew: what is tested is
that today's program reads what an earlier one wrote.
"""

import pathlib
import sqlite3
import sys

APPLICATION_ID = 0x57414B45

source, migrations = map(pathlib.Path, sys.argv[1:3])
scripts = sorted(migrations.glob("*.sql"))
for schema in map(int, sys.argv[3:]):
    path = pathlib.Path(__file__).parent / f"schema-{schema}.sqlite"
    if path.exists():
        continue
    golden = sqlite3.connect(path)
    for script in scripts[:schema]:
        golden.executescript(script.read_text())
    golden.execute("ATTACH ? AS source", [str(source)])
    tables = [name for (name,) in golden.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'")]
    for table in tables:
        columns = ", ".join(row[1] for row in golden.execute(f"PRAGMA main.table_info({table})"))
        golden.execute(f"DELETE FROM main.{table}")
        golden.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM source.{table}")
    golden.commit()
    golden.execute("DETACH source")
    golden.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    golden.execute(f"PRAGMA user_version = {schema}")
    golden.execute("VACUUM")
    golden.close()
