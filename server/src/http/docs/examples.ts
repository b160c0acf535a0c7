/** Names in the examples of parameters and headers; the examples of docs/api/ have the same. */

export const exampleId = '0199b3c2-7d1e-7a44-9c3f-5e0b8a6d2f10';
export const exampleAccountId = '0199b39f-5c2d-7e10-a6b4-93d1c7e2f805';
export const exampleKeyId = '0199b3a0-11aa-7c3e-8b52-2f4d6e8a9c01';
export const exampleFileId = 'file_0199b3c27d1e7a449c3f5e0b8a6d2f10';
export const exampleSignature = 'Zk3xH0m1Yb7QpVtq2n8sJcWf5aLrD9uEoT6gKiBvXyM';
