// What Python sees: functions over contiguous buffers. rowmax/__init__.py checks shapes and types.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <cuda_runtime_api.h>

#include <exception>
#include <string>

#include "rowmax.h"

namespace {

PyObject* cuda_available(PyObject*, PyObject*) {
  int devices = 0;
  return PyBool_FromLong(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0);
}

// rowmax(matrix, values, indices, on_cuda)
template <typename T>
PyObject* rowmax(PyObject*, PyObject* arguments) {
  Py_buffer matrix, values, indices;
  int on_cuda;
  if (!PyArg_ParseTuple(arguments, "y*w*w*p", &matrix, &values, &indices, &on_cuda)) return nullptr;
  const std::size_t rows = values.len / sizeof(T);
  const std::size_t columns = rows == 0 ? 0 : matrix.len / sizeof(T) / rows;
  std::string error;
  if (indices.len / sizeof(std::int64_t) != rows || rows * columns * sizeof(T) != std::size_t(matrix.len) ||
      (rows > 0 && columns == 0)) {
    error = "buffers do not fit together";
  } else {
    Py_BEGIN_ALLOW_THREADS
    try {
      const auto run = on_cuda ? rowmax_on_cuda<T> : rowmax_on_cpu<T>;
      run(static_cast<const T*>(matrix.buf), rows, columns, static_cast<T*>(values.buf),
          static_cast<std::int64_t*>(indices.buf));
    } catch (const std::exception& exception) {
      error = exception.what();
    }
    Py_END_ALLOW_THREADS
  }
  PyBuffer_Release(&matrix);
  PyBuffer_Release(&values);
  PyBuffer_Release(&indices);
  if (error.empty()) Py_RETURN_NONE;
  PyErr_SetString(PyExc_RuntimeError, error.c_str());
  return nullptr;
}

PyMethodDef methods[] = {
    {"cuda_available", cuda_available, METH_NOARGS, nullptr},
    {"rowmax_float32", rowmax<float>, METH_VARARGS, nullptr},
    {"rowmax_float64", rowmax<double>, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods};

}  // namespace

PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&definition); }
