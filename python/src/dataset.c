/* SPDX-License-Identifier: MIT
 *
 * The Python type Dataset: an open data set. A Dataset never changes. So readers and threads share
 * it, and a forked child may continue to use it. A spawned process opens the data set again. */
#include "module.h"

#include <stdlib.h>
#include <string.h>

/* A data set that is being opened, either from sources or from a SageMaker channel (an input of a
 * training job). Opening may continue after the caller has stopped waiting for it. For a channel,
 * `sources` contains the channel's name, its root directory, and the data set's manifest if the
 * caller has given one. */
struct dataset_opening {
    char **sources;
    size_t count;
    bool is_channel;
    bool joins;                     /* set to open with sheaf_dataset_open_joined */
    char *offline;                  /* the cache for sheaf_dataset_open_offline; or NULL */
    uint64_t wait_seconds;
    struct sheaf_dataset *dataset;
    uint32_t rank, world_size;      /* of a channel; 0 if unknown */
    const char *world_by;           /* name of the setting that states them */
    char *description;              /* description of a channel; or NULL */
    bool is_pipe;
    struct sheaf_reader_options order;      /* defaults, or the values of the job's
                                               hyperparameters */
    struct sheaf_error error;
    int code;
};

static int open_channel(struct dataset_opening *o)
{
    struct sheaf_channel_options options;
    struct sheaf_channel *channel = NULL;

    sheaf_channel_options_init(&options, sizeof(options));
    options.root = o->sources[1];
    options.wait_seconds = o->wait_seconds;
    options.manifest = o->count > 2 ? o->sources[2] : NULL;
    o->code = sheaf_channel_open(o->sources[0], &options, &channel, &o->error);
    if (o->code == SHEAF_OK)
        o->code = sheaf_channel_world(channel, &o->rank, &o->world_size, &o->world_by,
                                      &o->error);
    if (o->code == SHEAF_END)
        o->rank = o->world_size = 0;
    if (o->code >= 0)
        o->code = sheaf_channel_order(channel, &o->order, &o->error);
    if (o->code >= 0) {
        struct sheaf_channel_info info;

        sheaf_channel_get_info(channel, &info, sizeof(info));
        o->is_pipe = info.kind == SHEAF_CHANNEL_PIPE;
        o->description = strdup(info.description);      /* NULL: it is not told */
        o->code = sheaf_channel_dataset(channel, &o->dataset, &o->error);
    }
    sheaf_channel_free(channel);
    return o->code;
}

static void dataset_opening_run(void *what)
{
    struct dataset_opening *o = what;

    if (o->is_channel) {
        o->code = open_channel(o);
        return;
    }
    if (o->offline != NULL)
        o->code = sheaf_dataset_open_offline((const char *const *)o->sources, o->count, o->offline,
                                             &o->dataset, &o->error);
    else
        o->code = (o->joins ? sheaf_dataset_open_joined : sheaf_dataset_open)(
            (const char *const *)o->sources, o->count, &o->dataset, &o->error);
}

static void dataset_opening_discard(void *what)
{
    struct dataset_opening *o = what;

    sheaf_dataset_free(o->dataset);
    for (size_t i = 0; i < o->count; i++)
        free(o->sources[i]);
    free(o->sources);
    free(o->description);
    free(o->offline);
    free(o);
}

static struct dataset_opening *dataset_opening_new(const struct sources *sources)
{
    struct dataset_opening *o = calloc(1, sizeof(*o));

    if (o != NULL)
        o->sources = calloc(sources->count + 1, sizeof(o->sources[0]));
    if (o == NULL || o->sources == NULL) {
        free(o);
        PyErr_NoMemory();
        return NULL;
    }
    for (; o->count < sources->count; o->count++) {
        o->sources[o->count] = strdup(sources->texts[o->count]);
        if (o->sources[o->count] == NULL) {
            dataset_opening_discard(o);
            PyErr_NoMemory();
            return NULL;
        }
    }
    return o;
}

static int dataset_init(struct dataset_object *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = { "source", "channel", "wait_seconds", "join", "offline", NULL };
    PyObject *source, *channel = NULL;
    const char *offline = NULL;
    unsigned long long wait_seconds = 0;
    struct dataset_opening *opening;
    struct sources sources;
    int joins = 0;

    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OKpz:Dataset", names, &source, &channel,
                                     &wait_seconds, &joins, &offline))
        return -1;
    if (self->dataset != NULL) {
        error_raise_state("the data set is open already");
        return -1;
    }
    if (sources_take(channel != NULL ? channel : source, &sources) != 0)
        return -1;
    opening = dataset_opening_new(&sources);
    sources_free(&sources);
    if (opening == NULL)
        return -1;
    opening->is_channel = channel != NULL;
    sheaf_reader_options_init(&opening->order, sizeof(opening->order));
    opening->wait_seconds = wait_seconds;
    opening->joins = joins != 0;
    opening->offline = offline == NULL ? NULL : strdup(offline);
    if (offline != NULL && opening->offline == NULL) {
        dataset_opening_discard(opening);
        PyErr_NoMemory();
        return -1;
    }
    if (aside_run(dataset_opening_run, dataset_opening_discard, opening) != 0)
        return -1;
    if (opening->code == SHEAF_OK) {
        self->dataset = opening->dataset;
        opening->dataset = NULL;
        self->rank = opening->rank;
        self->world_size = opening->world_size;
        self->world_by = opening->world_by;
        self->description = opening->description;
        opening->description = NULL;
        self->is_pipe = opening->is_pipe;
        self->order = opening->order;
        self->source = Py_NewRef(source);
    } else {
        error_raise(&opening->error);
    }
    dataset_opening_discard(opening);
    return self->dataset != NULL ? 0 : -1;
}

static void dataset_dealloc(struct dataset_object *self)
{
    PyTypeObject *type = Py_TYPE((PyObject *)self);

    sheaf_dataset_free(self->dataset);
    free(self->description);
    Py_XDECREF(self->source);
    object_free(self);
    Py_DECREF(type);
}

PyObject *dataset_of(PyObject *source)
{
    if (PyObject_TypeCheck(source, dataset_type)) {
        if (((struct dataset_object *)source)->dataset == NULL)
            return error_raise_state("the data set is not open");
        return Py_NewRef(source);
    }
    return PyObject_CallFunctionObjArgs((PyObject *)dataset_type, source, NULL);
}

/* ---- What it says of itself ----------------------------------------------------------------- */

static PyObject *count_or_none(const struct sheaf_dataset_info *info, uint64_t count)
{
    return info->is_stream ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(count);
}

/* Returns the counts that the manifest has about packing, as a dict. A count that is unknown is
 * None. */
static PyObject *packing_counts(const struct sheaf_dataset_info *info)
{
    const struct {
        const char *name;
        uint64_t count;
    } counts[] = {
        { "images_converted", info->images_converted }, { "images_resized", info->images_resized },
        { "skipped", info->skipped }, { "left_out_values", info->left_out_values },
        { "cls_words", info->cls_words },
    };
    PyObject *dict = PyDict_New();

    for (size_t i = 0; dict != NULL && i < sizeof(counts) / sizeof(counts[0]); i++) {
        PyObject *count = counts[i].count == UINT64_MAX
                              ? Py_NewRef(Py_None) : PyLong_FromUnsignedLongLong(counts[i].count);

        if (count == NULL || PyDict_SetItemString(dict, counts[i].name, count) != 0)
            Py_CLEAR(dict);
        Py_XDECREF(count);
    }
    return dict;
}

static PyObject *dataset_info(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;
    const char *container, *codec;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    container = sheaf_container_name(info.container);
    codec = sheaf_codec_name(info.codec);
    return Py_BuildValue("{s:(II),s:(II),s:{s:K,s:K,s:K,s:I},s:O,"
                         "s:N,s:O,s:O,s:z,s:z,s:N,s:O,s:N,s:K,s:K,s:i,s:s,s:z,s:z,s:N,s:K,s:N}",
                         "world", self->rank, self->world_size, "host", (unsigned)info.host,
                         (unsigned)info.hosts,
                         "order", "seed", (unsigned long long)self->order.seed,
                         "epoch", (unsigned long long)self->order.epoch, "shuffle_buffer",
                         (unsigned long long)self->order.shuffle_buffer,
                         "lanes", (unsigned)self->order.lanes,
                         "is_pipe", self->is_pipe ? Py_True : Py_False,
                         "url", text_of(info.url != NULL ? info.url : ""),
                         "has_manifest", info.has_manifest ? Py_True : Py_False,
                         "is_stream", info.is_stream ? Py_True : Py_False,
                         "container", container, "codec", codec,
                         "samples", count_or_none(&info, info.samples),
                         "is_view", info.is_view ? Py_True : Py_False,
                         "epoch_samples", count_or_none(&info, info.epoch_samples),
                         "bytes", (unsigned long long)info.bytes,
                         "payload_bytes", (unsigned long long)info.payload_bytes,
                         "label_base", info.label_base, "fingerprint", info.fingerprint,
                         "manifest_json", info.manifest_json, "world_by", self->world_by,
                         "description", self->description == NULL ? Py_NewRef(Py_None)
                                                                  : text_of(self->description),
                         "repeated_keys", (unsigned long long)info.repeated_keys,
                         "packing", packing_counts(&info));
}

static void count_stretch(void *context, const struct sheaf_stretch *stretch)
{
    *(unsigned long long *)context += stretch->samples;
}

/* Implements a method that returns the number of samples in an epoch. If several hosts share the
 * data set, the number depends on the argument `remainder`. */
static PyObject *dataset_planned(struct dataset_object *self, PyObject *Py_UNUSED(args),
                                 PyObject *keywords)
{
    static const struct option table[] = {
        { "remainder", OPTION_REMAINDER, offsetof(struct sheaf_reader_options, remainder) },
        { "lanes", OPTION_U32, offsetof(struct sheaf_reader_options, lanes) },
        { NULL, OPTION_CALL, 0 },
    };
    struct sheaf_reader_options options;
    unsigned long long samples = 0;
    struct sheaf_error error;

    sheaf_reader_options_init(&options, sizeof(options));
    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    if (options_set(&options, table, keywords) != 0)
        return NULL;
    if (sheaf_dataset_plan(self->dataset, &options, count_stretch, &samples, &error) != SHEAF_OK)
        return error_raise(&error);
    return PyLong_FromUnsignedLongLong(samples);
}

static PyObject *dataset_fingerprint_at(struct dataset_object *self, PyObject *args,
                                        PyObject *keywords)
{
    static const struct option table[] = {
        { "epoch", OPTION_U64, offsetof(struct sheaf_reader_options, epoch) },
        { "lanes", OPTION_U32, offsetof(struct sheaf_reader_options, lanes) },
        { NULL, OPTION_CALL, 0 },
    };
    struct sheaf_reader_options options;
    unsigned long long samples;
    struct sheaf_error error;
    char fingerprint[33];

    sheaf_reader_options_init(&options, sizeof(options));
    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    if (!PyArg_ParseTuple(args, "K", &samples) || options_set(&options, table, keywords) != 0)
        return NULL;
    if (sheaf_dataset_fingerprint_at(self->dataset, &options, samples, fingerprint, &error)
        != SHEAF_OK)
        return error_raise(&error);
    return PyUnicode_FromString(fingerprint);
}

/* Returns a Python list of `count` objects, each of which is made by a call entry(from, i). */
static PyObject *list_of(size_t count, PyObject *(*entry)(const void *from, size_t i),
                         const void *from)
{
    PyObject *list = PyList_New((Py_ssize_t)count);

    for (size_t i = 0; list != NULL && i < count; i++) {
        PyObject *object = entry(from, i);

        if (object == NULL) {
            Py_DECREF(list);
            return NULL;
        }
        PyList_SetItem(list, (Py_ssize_t)i, object);
    }
    return list;
}

static PyObject *shard_tuple(const void *dataset, size_t i)
{
    struct sheaf_shard_info shard;

    if (sheaf_dataset_shard(dataset, i, &shard, sizeof(shard)) != SHEAF_OK)
        return error_raise_state("a shard is missing");
    return Py_BuildValue("(NKKKzn)", text_of(shard.name), (unsigned long long)shard.bytes,
                         (unsigned long long)shard.payload_bytes,
                         (unsigned long long)shard.samples, shard.xxh3,
                         (Py_ssize_t)shard.source);
}

static PyObject *source_tuple(const struct sheaf_source_info *source)
{
    return Py_BuildValue("(NOzznnKKisz)", text_of(source->url),
                         source->has_manifest ? Py_True : Py_False,
                         sheaf_container_name(source->container),
                         sheaf_codec_name(source->codec), (Py_ssize_t)source->first_shard,
                         (Py_ssize_t)source->shard_count,
                         (unsigned long long)source->first_number,
                         (unsigned long long)source->samples, source->label_base,
                         source->fingerprint, source->manifest_json);
}

static PyObject *dataset_sources(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_source_info source;
    PyObject *list;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    list = PyList_New(0);
    for (size_t i = 0; list != NULL && sheaf_dataset_source(self->dataset, i, &source,
                                                            sizeof(source)) == SHEAF_OK; i++) {
        PyObject *tuple = source_tuple(&source);

        if (tuple == NULL || PyList_Append(list, tuple) != 0) {
            Py_XDECREF(tuple);
            Py_DECREF(list);
            return NULL;
        }
        Py_DECREF(tuple);
    }
    return list;
}

static PyObject *dataset_shards(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    return list_of(info.shard_count, shard_tuple, self->dataset);
}

static PyObject *class_text(const void *dataset, size_t i)
{
    return text_of(sheaf_dataset_class(dataset, i));
}

static PyObject *dataset_classes(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    return list_of(info.class_count, class_text, self->dataset);
}

static PyObject *field_tuple(const void *dataset, size_t i)
{
    struct sheaf_field_info field;

    if (sheaf_dataset_field(dataset, i, &field, sizeof(field)) != SHEAF_OK)
        return error_raise_state("a field is missing");
    return Py_BuildValue("(NKKKKKN)", text_of(field.name), (unsigned long long)field.samples,
                         (unsigned long long)field.bytes, (unsigned long long)field.least_bytes,
                         (unsigned long long)field.median_bytes,
                         (unsigned long long)field.most_bytes,
                         field.lacking == NULL ? Py_NewRef(Py_None) : text_of(field.lacking));
}

static PyObject *dataset_fields(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    if (!info.counts_fields)
        Py_RETURN_NONE;
    return list_of(info.field_count, field_tuple, self->dataset);
}

static PyObject *number_at(const void *numbers, size_t i)
{
    return PyLong_FromUnsignedLongLong(((const uint64_t *)numbers)[i]);
}

static PyObject *dataset_class_samples(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;
    struct sheaf_error error;
    uint64_t *samples;
    PyObject *list;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    if (!info.counts_classes)
        Py_RETURN_NONE;
    samples = calloc(info.class_count, sizeof(samples[0]));
    if (samples == NULL)
        return PyErr_NoMemory();
    list = sheaf_dataset_class_samples(self->dataset, samples, &error) == SHEAF_OK
               ? list_of(info.class_count, number_at, samples) : error_raise(&error);
    free(samples);
    return list;
}

/* Implements a method that returns an array of int64 with the label of each sample. */
static PyObject *dataset_labels(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    struct sheaf_dataset_info info;
    struct sheaf_error error;
    PyObject *array;
    int code;

    if (self->dataset == NULL)
        return error_raise_state("the data set is not open");
    sheaf_dataset_get_info(self->dataset, &info, sizeof(info));
    array = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(info.samples * sizeof(int64_t)));
    if (array == NULL)
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    code = sheaf_dataset_labels(self->dataset, (int64_t *)(void *)PyByteArray_AsString(array),
                                &error);
    Py_END_ALLOW_THREADS
    if (code == SHEAF_OK)
        return array;
    Py_DECREF(array);
    return error_raise(&error);
}

static PyObject *dataset_reduce(struct dataset_object *self, PyObject *Py_UNUSED(ignored))
{
    if (self->source == NULL)
        return error_raise_state("the data set is not open");
    return Py_BuildValue("O(O)", Py_TYPE((PyObject *)self), self->source);
}

static PyMethodDef dataset_methods[] = {
    { "_info", (PyCFunction)dataset_info, METH_NOARGS, "What is known of it, as a dict." },
    { "_shards", (PyCFunction)dataset_shards, METH_NOARGS, "Its shards, as tuples." },
    { "_sources", (PyCFunction)dataset_sources, METH_NOARGS, "What it was opened from." },
    { "_planned", (PyCFunction)(void (*)(void))dataset_planned, METH_VARARGS | METH_KEYWORDS,
      "_planned(remainder, lanes): the samples of an epoch of all its ranks." },
    { "_fingerprint_at", (PyCFunction)(void (*)(void))dataset_fingerprint_at,
      METH_VARARGS | METH_KEYWORDS,
      "_fingerprint_at(samples, epoch, lanes): that of a position after so many samples." },
    { "_classes", (PyCFunction)dataset_classes, METH_NOARGS, "The names of its classes." },
    { "_fields", (PyCFunction)dataset_fields, METH_NOARGS, "Its fields, as tuples, or None." },
    { "_class_samples", (PyCFunction)dataset_class_samples, METH_NOARGS,
      "How many samples each class has, or None." },
    { "_labels", (PyCFunction)dataset_labels, METH_NOARGS,
      "The label of each sample, int64 in a bytearray; -1: it has none." },
    { "_read", (PyCFunction)dataset_read, METH_VARARGS,
      "_read(numbers, memory_bytes): these samples as a Batch." },
    { "_find", (PyCFunction)dataset_find, METH_VARARGS,
      "The samples with these keys, as a Batch." },
    { "_locate", (PyCFunction)(void (*)(void))dataset_locate, METH_VARARGS | METH_KEYWORDS,
      "_locate(numbers, **order): when they come, as tuples." },
    { "_write_numbers", (PyCFunction)dataset_write_numbers, METH_VARARGS,
      "_write_numbers(numbers, view): the name of the file beside the view." },
    { "__reduce__", (PyCFunction)dataset_reduce, METH_NOARGS, "Opened again where it arrives." },
    { NULL, NULL, 0, NULL },
};

static PyType_Slot dataset_slots[] = {
    { Py_tp_new, PyType_GenericNew },
    { Py_tp_init, dataset_init },
    { Py_tp_dealloc, dataset_dealloc },
    { Py_tp_methods, dataset_methods },
    { Py_tp_doc, "Dataset(source): an opened data set." },
    { 0, NULL },
};

static PyType_Spec dataset_spec = {
    .name = "sheaf._sheaf.Dataset",
    .basicsize = sizeof(struct dataset_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .slots = dataset_slots,
};

int dataset_add(PyObject *module)
{
    dataset_type = module_add_type(module, &dataset_spec);
    return dataset_type == NULL ? -1 : 0;
}
