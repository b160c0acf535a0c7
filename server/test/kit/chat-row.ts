/** A catalog of one upstream with one text model; values are written as YAML. */
export interface ChatRow {
  name: string;
  adapter: string;
  url: string;
  key_from: string;
  options: string;
  id: string;
  price: string;
  upstream_model: string;
  /** Further fields of the row. */
  more?: string;
}

export const chatCatalog = (row: ChatRow) => `
upstream:
  name: ${row.name}
  adapter: ${row.adapter}
  url: ${row.url}
  key_from: ${row.key_from}
  options: ${row.options}
models:
  - id: ${row.id}
    kind: text
    task: chat
    name: Chat
    price: ${row.price}
    context_tokens: 100000
    max_output_tokens: 8192
    on_disconnect: finish
    input_modalities: [text, image, file]
    upstream_model: ${row.upstream_model}
    ${row.more ?? ''}
`;
