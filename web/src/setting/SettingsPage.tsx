import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { settingsQuery } from "../api/queries";
import type { Setting } from "../api/types";
import { FolderList } from "../folder/FolderList";
import { labels } from "../labels";
import { toSentence } from "../text/sentence";
import { TextField } from "../ui/Field";
import { Icon } from "../ui/Icon";
import { InlineText } from "../ui/InlineText";
import { Listing } from "../ui/Listing";
import { SettingDialog } from "./SettingDialog";
import { matching, valueText } from "./value";

/** All settings: value, source and description of each. */
export default function SettingsPage() {
  const list = useQuery(settingsQuery);
  const [search, setSearch] = useState("");
  const [changed, setChanged] = useState<Setting>();
  return (
    <>
      <p className="lede">{labels.setting.lede}</p>
      {list.data?.problem && (
        <p className="notice" role="status">
          <Icon name="alert" /> <InlineText text={toSentence(list.data.problem.message)} />
        </p>
      )}
      <TextField label={labels.setting.search} type="search" value={search} onValue={setSearch} />
      <Listing
        list={{ ...list, data: list.data?.settings }}
        action={labels.setting.listAction}
        loading={labels.setting.loading}
        icon="tool"
        none={labels.setting.none}
        noneHint={labels.setting.noneHint}
      >
        {(entries) => <SettingTable settings={matching(entries, search)} onChange={setChanged} />}
      </Listing>
      {/* After the settings, which would push it down. */}
      {!list.isPending && <FolderList />}
      {changed && <SettingDialog setting={changed} onClose={() => setChanged(undefined)} />}
    </>
  );
}

function SettingTable({ settings, onChange }: { settings: readonly Setting[]; onChange: (one: Setting) => void }) {
  if (settings.length === 0)
    return (
      <p className="panel quiet" role="status">
        {labels.setting.noneFound}
      </p>
    );
  const { columns } = labels.setting;
  return (
    <div className="panel">
      <table className="table settings">
        <thead>
          <tr>
            <th scope="col">{columns.name}</th>
            <th scope="col">{columns.value}</th>
            <th scope="col">{columns.source}</th>
            <th scope="col">
              <span className="hidden">{columns.change}</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {settings.map((one) => (
            <SettingRow key={one.name} setting={one} onChange={onChange} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

function SettingRow({ setting, onChange }: { setting: Setting; onChange: (one: Setting) => void }) {
  const { name, value, origin, line, description } = setting;
  const shown = valueText(value);
  const source = labels.setting.origins[origin];
  return (
    <tr>
      <th scope="row">
        <code>{name}</code>
        <p className="quiet">
          <InlineText text={toSentence(description)} />
        </p>
      </th>
      <td>{shown === "" ? <span className="quiet">{labels.setting.notSet}</span> : <code>{shown}</code>}</td>
      <td className="quiet">{line === undefined ? source : labels.setting.line(source, line)}</td>
      <td>
        <button
          type="button"
          className="button"
          aria-label={labels.setting.with(labels.setting.change, name)}
          onClick={() => onChange(setting)}
        >
          {labels.setting.change}
        </button>
      </td>
    </tr>
  );
}
