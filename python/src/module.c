/* SPDX-License-Identifier: MIT
 *
 * The module itself: its types and functions. */
#include "module.h"

#include <stdio.h>

#include "serving.h"

PyTypeObject *dataset_type, *reader_type, *batch_type, *sample_type, *field_type, *packer_type;

PyTypeObject *module_add_type(PyObject *module, PyType_Spec *spec)
{
    PyTypeObject *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);

    if (type != NULL && PyModule_AddType(module, type) != 0) {
        Py_DECREF(type);
        return NULL;
    }
    return type;
}

void object_free(void *object)
{
    freefunc release = (freefunc)PyType_GetSlot(Py_TYPE((PyObject *)object), Py_tp_free);

    release(object);
}

static PyMethodDef functions[] = {
    { "pack", (PyCFunction)(void (*)(void))action_pack, METH_VARARGS | METH_KEYWORDS,
      "pack(source, dest, **options) -> dict" },
    { "class_list", action_class_list, METH_VARARGS,
      "class_list(path, label_base) -> [(name, number), ...]" },
    { "plan", (PyCFunction)(void (*)(void))action_plan, METH_VARARGS | METH_KEYWORDS,
      "plan(sources, dest, plan, **options) -> dict" },
    { "pack_part", (PyCFunction)(void (*)(void))action_pack_part, METH_VARARGS | METH_KEYWORDS,
      "pack_part(plan, part, parts, **options) -> dict" },
    { "commit", (PyCFunction)(void (*)(void))action_commit, METH_VARARGS | METH_KEYWORDS,
      "commit(plan, **options) -> dict" },
    { "part_from_environment", action_part, METH_NOARGS,
      "part_from_environment() -> (part, parts), or None" },
    { "world_from_environment", action_world, METH_NOARGS,
      "world_from_environment() -> (rank, world_size, by what), or None" },
    { "view_write", action_view_write, METH_VARARGS, "view_write(document, path, overwrite)" },
    { "raise_error", error_raise_code, METH_VARARGS, "raise_error(code, message)" },
    { "fetch", (PyCFunction)(void (*)(void))action_fetch, METH_VARARGS | METH_KEYWORDS,
      "fetch(source, directory, **options) -> dict" },
    { "verify", (PyCFunction)(void (*)(void))action_verify, METH_VARARGS | METH_KEYWORDS,
      "verify(source, **options) -> dict" },
    { "index", (PyCFunction)(void (*)(void))action_index, METH_VARARGS | METH_KEYWORDS,
      "index(directory, peers, overwrite, **options) -> dict" },
    { "edit", (PyCFunction)(void (*)(void))action_edit, METH_VARARGS | METH_KEYWORDS,
      "edit(dataset, **options) -> dict" },
    { "repair", (PyCFunction)(void (*)(void))action_repair, METH_VARARGS | METH_KEYWORDS,
      "repair(dataset, source, **options) -> dict" },
    { "append", (PyCFunction)(void (*)(void))action_append, METH_VARARGS | METH_KEYWORDS,
      "append(source, dataset, **options) -> dict" },
    { "column_add", (PyCFunction)(void (*)(void))action_column_add, METH_VARARGS | METH_KEYWORDS,
      "column_add(dataset, name, source, **options) -> dict" },
    { "column_plan", (PyCFunction)(void (*)(void))action_column_plan,
      METH_VARARGS | METH_KEYWORDS,
      "column_plan(dataset, name, source, plan, **options) -> dict" },
    { "column_add_part", (PyCFunction)(void (*)(void))action_column_add_part,
      METH_VARARGS | METH_KEYWORDS, "column_add_part(plan, part, parts, **options) -> dict" },
    { "column_drop", action_column_drop, METH_VARARGS, "column_drop(dataset, name)" },
    { "column_list", action_column_list, METH_O, "column_list(source) -> list of dicts" },
    { "convert", (PyCFunction)(void (*)(void))action_convert, METH_VARARGS | METH_KEYWORDS,
      "convert(source, dest, reading, **options) -> dict" },
    { "convert_part", (PyCFunction)(void (*)(void))action_convert_part,
      METH_VARARGS | METH_KEYWORDS, "convert_part(plan, part, parts, reading, **options) -> dict" },
    { "unpack_files", (PyCFunction)(void (*)(void))action_unpack, METH_VARARGS | METH_KEYWORDS,
      "unpack_files(source, directory, reading, **options) -> dict" },
    { "pipe", (PyCFunction)(void (*)(void))action_pipe, METH_VARARGS | METH_KEYWORDS,
      "pipe(source, directory, **options) -> dict" },
    { "report_failure", action_report_failure, METH_VARARGS, "report_failure(root, message)" },
    { "plan_info", action_plan_info, METH_VARARGS,
      "plan_info(path) -> dict, or None if it is not a plan" },
    { "unpack", batch_unpack, METH_O,
      "unpack(buffer): the Batch that Batch._pack() gave, in the buffer's memory." },
    { "unpack_sample", sample_unpack, METH_O,
      "unpack_sample(buffer): the one Sample of such a Batch, as it is pickled." },
    { "receive", batch_receive, METH_VARARGS,
      "receive(memory, word, message): the Batch that an Arena has sent, in its memory." },
    { NULL, NULL, 0, NULL },
};

static struct PyModuleDef definition = {
    .m_base = PyModuleDef_HEAD_INIT,
    .m_name = "sheaf._sheaf",
    .m_doc = "The C side of sheaf; see the package.",
    .m_size = -1,
    .m_methods = functions,
};

/* Prints a notice of the C library; a function of the type sheaf_report_fn. It is called on a
 * thread of the library, which must not wait for the Python interpreter. So the function does not
 * use Python. */
static void module_print_notice(void *context, const char *where, const struct sheaf_error *notice)
{
    (void)context;
    fprintf(stderr, "sheaf: %s: %s\n", where, notice->message);
}

PyMODINIT_FUNC PyInit__sheaf(void);

PyMODINIT_FUNC PyInit__sheaf(void)
{
    PyObject *module = PyModule_Create(&definition);

    if (module == NULL)
        return NULL;
    sheaf_on_notice(module_print_notice, NULL);
    if (errors_add(module) == 0 && dataset_add(module) == 0 && batch_add(module) == 0 &&
        arena_add(module) == 0 && sample_add(module) == 0 && reader_add(module) == 0 &&
        packer_add(module) == 0 && server_add(module) == 0 && planned_add(module) == 0 &&
        pixels_add(module) == 0 && pixels_slot_add(module) == 0 &&
        pixels_queue_add(module) == 0 && columns_add(module) == 0 &&
        PyModule_AddStringConstant(module, "version", sheaf_version()) == 0 &&
        PyModule_AddStringConstant(module, "pixels_version", sheaf_pixels_version()) == 0 &&
        forks_watch(serving_forked))
        return module;
    Py_DECREF(module);
    return NULL;
}
