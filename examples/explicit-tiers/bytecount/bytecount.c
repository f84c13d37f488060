/* count(data): how often each of the 256 bytes occurs, as 256 native unsigned 64-bit numbers. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

static PyObject *count(PyObject *module, PyObject *data) {
  Py_buffer view;
  if (PyObject_GetBuffer(data, &view, PyBUF_SIMPLE) < 0) return NULL;
  uint64_t counts[256] = {0};
  const unsigned char *bytes = view.buf;
  Py_BEGIN_ALLOW_THREADS
  for (Py_ssize_t i = 0; i < view.len; i++) counts[bytes[i]]++;
  Py_END_ALLOW_THREADS
  PyBuffer_Release(&view);
  return PyBytes_FromStringAndSize((const char *)counts, sizeof counts);
}

static PyMethodDef methods[] = {
    {"count", count, METH_O, "How often each byte occurs, as 256 native unsigned 64-bit numbers."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bytecount", NULL, -1, methods};

PyMODINIT_FUNC PyInit_bytecount(void) { return PyModule_Create(&definition); }
